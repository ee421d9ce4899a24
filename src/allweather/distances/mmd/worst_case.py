"""The worst distribution in a kernel ball, for many decisions at once.

Each decision takes the cheapest way that gives the exact answer: the closed form with full support, the point mass
that a large ball contains, a straight line out of p for a tiny one, the support of a similar decision, a few rounds of
changing supports where the kernel is well conditioned, and else the interior point method.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from allweather.distances.mmd.active_set import (
    MAX_COLD_DECISIONS,
    MAX_FAILED_DECISIONS,
    MAX_WARM_DECISIONS,
    Supports,
    known_supports,
)
from allweather.distances.mmd.ball import GAP_TOLERANCE, KernelBall, total
from allweather.distances.mmd.few_contexts import FewContexts, worth_few
from allweather.distances.mmd.interior import minimise


def worst_in_ball(
    ball: KernelBall,
    values: Tensor,  # (b, n)
    p: Tensor,  # (n,) or (b, n)
    radius: Tensor,  # (b,)
) -> tuple[Tensor, Tensor]:
    """The worst q (b, n) and the multiplier (b,) of its distance, which is minus the slope."""
    height, scale = _unit(values)
    law = p if p.dim() == 1 else None
    p = p.expand_as(values)
    q, steepness = p.clone(), torch.zeros_like(radius)
    zero, positive = (radius == 0).nonzero().squeeze(-1), (radius > 0).nonzero().squeeze(-1)
    if len(zero):
        steepness[zero] = leaving(ball, height[zero], p[zero])[0]
    if len(positive):
        size = radius[positive, None]
        q[positive], multiplier = _Search(ball, height[positive], p[positive], size, law).solve()
        found = (multiplier * size).squeeze(-1)
        steepness[positive] = torch.where(found > 1e-9, found, 0.0)
    return q, steepness * scale.squeeze(-1)


def slope_gradient(
    ball: KernelBall,
    values: Tensor,  # (b, n)
    p: Tensor,  # (n,)
    radius: Tensor,  # (b,)
    q: Tensor,  # (b, n) the worst
    slope: Tensor,  # (b,)
) -> Tensor:
    """Derivative (b, n) of the slope in the values, on the support of the worst q."""
    gradient, p = torch.zeros_like(values), p.expand_as(values)
    zero, sloping = (radius == 0).nonzero().squeeze(-1), ((radius > 0) & (slope < 0)).nonzero().squeeze(-1)
    if len(zero):
        gradient[zero] = leaving(ball, values[zero], p[zero])[1]
    if len(sloping):
        size = radius[sloping, None]
        # A point that holds less than this sits at a kink, or is rounding.
        face = ball.face(q[sloping] > 1e-7, values[sloping], p[sloping], size)
        gradient[sloping] = -size * face.direction / (face.length * face.room).clamp_min(1e-300).sqrt()
    return gradient


def leaving(ball: KernelBall, values: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """How steeply (b,) the worst expectation falls at radius 0, and the direction of unit norm in which q leaves p.

    Only points without mass constrain the direction. Where there are none it has a closed form; elsewhere p may be
    replaced by any distribution with its support, and the radius by any that empties no point of it.
    """
    height, scale = _unit(values)
    steepness, direction = torch.zeros_like(values[:, 0]), torch.zeros_like(values)
    sloping, free = height.amax(-1) > 0, (p > 0).all(-1)
    rows = (sloping & free).nonzero().squeeze(-1)
    if len(rows):
        outwards = ball.project(height[rows])
        length = total(height[rows] * outwards).clamp_min(1e-300).sqrt()
        direction[rows], steepness[rows] = -outwards / length, (length * scale[rows]).squeeze(-1)
    left = (sloping & ~free).nonzero().squeeze(-1)
    spread = (p > 0).to(p.dtype) / total((p > 0).to(p.dtype))
    n = p.shape[-1]
    for radius in (1e-2 / n, 1e-4 / n, 1e-6 / n):
        if not len(left):
            break
        around = spread[left]
        q, multiplier = _Search(ball, height[left], around, torch.full_like(scale[left], radius)).solve(tiny=False)
        direction[left] = (q - around) / radius
        steepness[left] = (multiplier * radius * scale[left]).squeeze(-1)
        # The interior point method leaves crumbs of what it empties.
        left = left[((q <= 1e-6 * around) & (around > 0)).any(-1)]
    return steepness, direction


class _Search:
    """The decisions of one batch, their answers so far, and the rows still without one."""

    def __init__(self, ball: KernelBall, height: Tensor, p: Tensor, radius: Tensor, law: Tensor | None = None) -> None:
        self.ball, self.height, self.p, self.radius, self.law = ball, height, p, radius, law
        self.q, self.multiplier = torch.empty_like(height), torch.zeros_like(radius)
        self.rows = torch.arange(len(height), device=height.device)

    def solve(self, tiny: bool = True) -> tuple[Tensor, Tensor]:
        """The worst q (b, n), and the multiplier (b, 1) of half the squared norm."""
        self._full_support()
        self._point_mass()
        if tiny and bool((self.radius[self.rows] < 1e-3 * self.p[self.p > 0].min()).any()):
            self._straight_line()
        known = None
        if (
            self.law is not None
            and self.ball.tabled
            and self.height.is_cpu
            and 0 < len(self.rows) <= MAX_WARM_DECISIONS
        ):
            known = known_supports(self.ball, self.law)
            self._similar(known)
        left = self.rows
        if self.ball.well_conditioned:
            self._changing_supports()
        self._interior(self.rows)
        if known is not None:
            self._remember(left, known)
        return self.q, self.multiplier

    def _settle(self, solved: Tensor, q: Tensor, multiplier: Tensor) -> None:
        """Note the answers of the solved among the open rows."""
        self.q[self.rows[solved]], self.multiplier[self.rows[solved]] = q[solved], multiplier[solved]
        self.rows = self.rows[~solved]

    def _full_support(self) -> None:
        """Exact where no entry of q turns negative."""
        direction = self.ball.project(self.height)
        length = total(self.height * direction).clamp_min(0)
        flat = length <= 1e-30
        step = self.radius / length.clamp_min(1e-30).sqrt()
        self.relaxed = torch.where(flat, self.p, self.p - step * direction)
        self._settle((self.relaxed >= 0).all(-1), self.relaxed, torch.where(flat, 0.0, 1 / step))

    def _point_mass(self) -> None:
        """Set the worst case to the lowest value where the ball contains the point mass on it."""
        lowest = self.height[self.rows].argmin(-1)
        apart = self.ball.to_points(self.p[self.rows]).gather(-1, lowest[:, None])
        reached = (apart <= self.radius[self.rows]).squeeze(-1)
        mass = one_hot(lowest, self.p.shape[-1]).to(self.p.dtype)
        self._settle(reached, mass, torch.zeros_like(self.radius[self.rows]))

    def _straight_line(self) -> None:
        """Where the radius empties no point with mass, q leaves p along the line it starts on."""
        radius, p = self.radius[self.rows], self.p[self.rows]
        steepness, direction = leaving(self.ball, self.height[self.rows], p)
        q = p + radius * direction
        self._settle((q >= 0).all(-1), q, steepness[:, None] / radius)

    def _changing_supports(self) -> None:
        """Points leave the support where q is negative and enter where their multiplier is.

        On well conditioned kernels this settles within a few rounds, from where the relaxed q is positive.
        """
        support = self.relaxed[self.rows] > 0
        for _ in range(6):
            if not len(self.rows):
                return
            problem = self.height[self.rows], self.p[self.rows], self.radius[self.rows]
            face = self.ball.face(support, *problem)
            edge, multiplier = face.edge(problem[1])
            reduced = problem[0] + multiplier * ((edge - problem[1]) @ self.ball.gram)
            level = total(reduced * support) / total(support)
            following = torch.where(support, edge > 0, reduced < level)
            answer = face.worst(problem[1])
            solved = (self.ball.duality_gap(*answer, *problem) < GAP_TOLERANCE).squeeze(-1)
            self._settle(solved, *answer)
            support = following[~solved]

    def _similar(self, known: Supports) -> None:
        """Start from the worst distributions of similar decisions, the smallest ball first: larger ones contain it."""
        values, radii = self.height.numpy(), self.radius[:, 0].tolist()
        order, left = sorted(self.rows.tolist(), key=radii.__getitem__), list[int]()
        if known.start(values[order[0]], radii[order[0]]) is None:
            curve = radii[order[0]] < radii[order[-1]]  # supports change too much along it
            if len(order) > MAX_COLD_DECISIONS or self.ball.well_conditioned or curve:
                return
            first = torch.tensor(order[:1])
            self._interior(first)
            self._remember(first, known)
            order = order[1:]
        for place, row in enumerate(order):
            found = known.solve(values[row], radii[row])
            if found is not None:
                self.q[row] = 0.0
                self.q[row, torch.from_numpy(found.support)] = torch.from_numpy(found.q)
                self.multiplier[row] = found.multiplier
                continue
            left.append(row)
            if len(left) >= MAX_FAILED_DECISIONS:
                left += order[place + 1 :]
                break
        self.rows = torch.tensor(left, dtype=self.rows.dtype)

    def _interior(self, rows: Tensor) -> None:
        """Solve some rows by the interior point method."""
        if worth_few(self.height[rows]):
            few = FewContexts(self.ball, self.height[rows], self.p[rows], self.radius[rows])
            few.solve()
            self.q[rows], self.multiplier[rows] = few.q, few.multiplier
            rows = rows[~few.solved]
        if len(rows):
            answer = minimise(self.ball, self.height[rows], self.p[rows], self.radius[rows])
            self.q[rows], self.multiplier[rows] = answer

    def _remember(self, rows: Tensor, known: Supports) -> None:
        """Keep the answers of some rows as starts."""
        for row in rows.tolist():
            known.remember(self.height[row].numpy(), float(self.radius[row]), self.q[row].numpy())


def _unit(values: Tensor) -> tuple[Tensor, Tensor]:
    """Values between 0 and 1 in each row, and the range (b, 1) that was divided out."""
    low, high = values.aminmax(dim=-1, keepdim=True)
    scale = (high - low).clamp_min(torch.finfo(values.dtype).tiny)
    return (values - low) / scale, scale
