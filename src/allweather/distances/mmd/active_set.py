"""Worst distributions in a kernel ball from the supports of similar decisions, for small batches.

A distribution of the ball is one whatever the values are, so the worst one of a neighbouring decision is a start. From
there the worst point of the face with its support is looked for; points leave the support where they block the way, and
enter where they promise most, until no point does (a primal active set method). A search that climbs from step to step
hardly changes its supports, so this takes a few systems of their size, where the interior point method takes a dozen
of all contexts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv
from torch import Tensor

from allweather._utils.warm_starts import memory
from allweather.distances.mmd.ball import GAP_TOLERANCE, KernelBall

MAX_WARM_DECISIONS = 100
"""Larger batches are solved together by the interior point method (`python -m benchmarks mmd_paths`)."""
MAX_COLD_DECISIONS = 16
"""The same where no similar decision is known."""
MAX_KNOWN_STARTS = 128
"""Worst distributions that are kept as starts."""
MAX_SUPPORT_CHANGES = 16
"""Changes of one support before the interior point method takes over."""
MAX_FAILED_DECISIONS = 4
"""Decisions of a batch that may fail before the rest is solved by the interior point method."""
EPS = float(np.finfo(float).eps)


class Start(NamedTuple):
    """A worst distribution, and what it is worst for."""

    values: np.ndarray  # (n,)
    radius: float
    support: np.ndarray  # (m,)
    q: np.ndarray  # (m,)


class Answer(NamedTuple):
    """The worst distribution of a decision."""

    support: np.ndarray  # (m,)
    q: np.ndarray  # (m,)
    multiplier: float


class Supports:
    """Worst distributions around one law, from which similar decisions start.

    What `KernelBall` does for batches is done here for one decision at a time, in numpy: systems of a dozen points are
    solved in less time than torch takes to begin.
    """

    def __init__(self, ball: KernelBall, law: Tensor) -> None:
        self._gram, self._largest = ball.gram.numpy(), ball.largest
        self.law = law.numpy().copy()
        self._pull = self._gram @ self.law
        self._norm = float(self.law @ self._pull)
        apart = np.sqrt((self._gram.diagonal() - 2 * self._pull + self._norm).clip(0))
        middle = int(apart.argmin())
        self._middle = Start(np.zeros(0), float(apart[middle]), np.array([middle]), np.ones(1))
        """The point mass that the fewest balls are too small for."""
        self._known: list[Start] = []

    def __len__(self) -> int:
        return len(self._known)

    def remember(self, values: np.ndarray, radius: float, q: np.ndarray) -> None:
        """Keep the worst distribution q (n,) for some values (n,) as a start."""
        support = np.flatnonzero(q > EPS)
        self._keep(Start(values, radius, support, q[support]))

    def start(self, values: np.ndarray, radius: float) -> Start | None:
        """The distribution of a ball that is the worst one of the most similar values (n,); None if none is known."""
        starts = [each for each in self._known if each.radius <= radius]
        if not starts:
            return self._middle if self._middle.radius <= radius else None
        apart = np.square(np.array([each.values for each in starts]) - values).sum(-1)
        return starts[int(apart.argmin())]

    def solve(self, values: np.ndarray, radius: float) -> Answer | None:
        """The worst distribution for values (n,) between 0 and 1; None where another method must find it."""
        start = self.start(values, radius)
        found = None if start is None else self._moved(values, radius, start.support, start.q)
        if found is not None:
            self._keep(Start(values, radius, found.support, found.q))
        return found

    def _keep(self, start: Start) -> None:
        self._known.append(start)
        if len(self._known) > MAX_KNOWN_STARTS:
            self._known.pop(0)

    def _moved(self, values: np.ndarray, radius: float, support: np.ndarray, q: np.ndarray) -> Answer | None:
        """Go on from a distribution of the ball until no change of its support helps."""
        entered = -1
        for _ in range(MAX_SUPPORT_CHANGES):
            edge = self._edge(values, radius, support)
            if edge is None:
                return None
            target, multiplier = edge
            blocked = target < 0
            if blocked.any():
                share = np.full(len(q), np.inf)
                share[blocked] = q[blocked] / (q[blocked] - target[blocked])
                first = int(share.argmin())
                if support[first] == entered and share[first] <= 0:  # rounding sends it back: it changes nothing
                    return self._proven(values, radius, np.delete(support, first))
                q = np.delete(q + share[first] * (target - q), first)
                support = np.delete(support, first)
                continue
            q = target
            reduced = values + multiplier * (q @ self._gram[support] - self._pull)
            lowest, level = int(reduced.argmin()), float(q @ reduced[support])
            rounding = self._rounding(multiplier, support, q)
            if rounding > GAP_TOLERANCE / 1000:  # a tiny ball, whose support it would blur
                return None
            if reduced[lowest] >= level - rounding or lowest in support:
                return self._proven(values, radius, support)
            entered = lowest
            support, q = np.append(support, lowest), np.append(q, 0.0)
        return None

    def _edge(self, values: np.ndarray, radius: float, support: np.ndarray) -> tuple[np.ndarray, float] | None:
        """The worst point (m,) of the ball on the face of a support, negative entries and all, and its multiplier."""
        gram, pull, height = self._gram[np.ix_(support, support)], self._pull[support], values[support]
        sides = np.empty((len(support), 3), order="F")
        sides[:, 0], sides[:, 1], sides[:, 2] = pull, height, 1.0
        _, solved, failed = dposv(gram, sides, lower=1, overwrite_b=1)
        if failed:
            return None
        ones = solved[:, 2] / solved[:, 2].sum()
        nearest = solved[:, 0] + ones * (1 - solved[:, 0].sum())
        direction = solved[:, 1] - ones * solved[:, 1].sum()
        room = radius**2 - float(nearest @ (gram @ nearest - 2 * pull)) - self._norm
        length = float(direction @ height)
        if length <= 1e-30:
            return nearest, 0.0
        if room <= 0:
            return None
        step = (room / length) ** 0.5
        return nearest - step * direction, 1 / step

    def _proven(self, values: np.ndarray, radius: float, support: np.ndarray) -> Answer | None:
        """The answer on a support, the same whatever way led to it; None where the duality gap does not prove it."""
        support = np.sort(support)
        edge = self._edge(values, radius, support)
        if edge is None:
            return None
        q, multiplier = edge[0].clip(0), edge[1]
        q = q / q.sum()
        pull = q @ self._gram[support] - self._pull
        reduced = values + multiplier * pull
        slack = (radius**2 - float(q @ pull[support]) + float(self.law @ pull)) / 2
        gap = float(q @ (reduced[support] - reduced.min())) + multiplier * abs(slack)
        exact = gap - self._rounding(multiplier, support, q) < GAP_TOLERANCE and slack > -1e-8 * radius**2
        return Answer(support, q, multiplier) if exact else None

    def _rounding(self, multiplier: float, support: np.ndarray, q: np.ndarray) -> float:
        """What rounding of the ball's gradient comes to."""
        moved = 1 + float(np.abs(q - self.law[support]).sum() - self.law[support].sum())
        return 4 * EPS * self._largest * multiplier * moved


def known_supports(ball: KernelBall, law: Tensor) -> Supports:
    """What is remembered of a ball around a law; empty at first."""
    remembered = memory()
    known: Supports | None = None if remembered is None else remembered.get(ball)
    if known is None or not np.array_equal(known.law, law.numpy()):
        known = Supports(ball, law)
        if remembered is not None:
            remembered[ball] = known
    return known
