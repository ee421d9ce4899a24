"""Few contexts that stand for all where that saves much: for the spread of objectives, not for their centre."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from allweather._utils.cells import cells_of
from allweather.acquisition import Belief
from allweather.contexts import Reference

MOST = 128
"""Contexts with weight that stand for all where worst cases take long, and as many without."""
MANY, MOST_OF_MANY = 2**14, 2048
"""Where contexts are more than this, so many stand for all whatever the objective."""


def condensed(belief: Belief) -> Belief | None:
    """The same belief on few contexts where worst cases take long or contexts are many; None elsewhere.

    Args:
        belief: on all contexts.
    """
    points, weights = belief.reference
    if not belief.objective.slow and len(points) <= MANY:
        return None
    most, known = MOST if belief.objective.slow else MOST_OF_MANY, _KNOWN.get(points)
    if known is None or known[0] is not weights or known[1] != most:
        known = _KNOWN[points] = weights, most, condense(belief.reference, most)
    reference = known[2]
    if reference is None:
        return None
    return replace(belief, reference=reference, bound=None)


class Expected:
    """The objective of the posterior mean as a score, with that on few contexts as its `rough` form."""

    def __init__(self, belief: Belief, rough: Belief) -> None:
        self._belief, self.rough = belief, rough.expected

    def __call__(self, decisions: Tensor) -> Tensor:
        """The score (b,)."""
        return self._belief.expected(decisions)


def correction(belief: Belief, few: Belief, decisions: Tensor) -> Tensor:
    """How much the objective (b,) of the mean function is higher on all contexts than on few; 0 where it is infinite.

    Args:
        belief: on all contexts.
        few: what `condensed` returned for it.
        decisions: (b, d_x) in the unit cube.
    """
    with torch.no_grad():
        exact, rough = (
            torch.cat([each.objective(each.field.mean(rows), each.reference) for rows in decisions.split(64)])
            for each in (belief, few)
        )
    return (exact - rough).nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)


def condense(reference: Reference, most: int) -> Reference | None:
    """At most `most` contexts with weight, and as many without, that stand for all; None where there are few anyway.

    Contexts are halved again and again, along the widest side and into equal weights. Each cell is represented by the
    context next to its mean, with the weight of all.

    Args:
        reference: all contexts.
        most: how many to keep of each kind.

    Example:
        >>> many = Reference.checked(torch.rand(999, 2), torch.full((999,), 1 / 999))
        >>> few = condense(many, 16)
        >>> len(few.points), bool((few.weights @ few.points - many.weights @ many.points).abs().max() < 0.05)
        (16, True)
    """
    weights = reference.weights.cpu().numpy()
    kinds = np.flatnonzero(weights > 0), np.flatnonzero(weights <= 0)
    if max(map(len, kinds)) <= 2 * most:
        return None
    chosen, shares = [], []
    for kind, masses in zip(kinds, (weights, np.ones_like(weights)), strict=True):
        cells = _cells(reference.points.cpu().numpy(), masses, kind, most)
        chosen += [_middle(reference.points.cpu().numpy()[cell], masses[cell], cell) for cell in cells]
        shares += [weights[cell].sum() for cell in cells]
    places = torch.tensor(chosen, device=reference.points.device)
    return Reference(reference.points[places], reference.weights.new_tensor(shares) / sum(shares))


def _cells(points: np.ndarray, masses: np.ndarray, members: np.ndarray, most: int) -> list[np.ndarray]:
    """Members in at most `most` cells of equal mass; each by itself where they are few."""
    if len(members) <= 2 * most:
        return [members[place : place + 1] for place in range(len(members))]
    return cells_of(points, masses, members, most)


def _middle(points: np.ndarray, masses: np.ndarray, cell: np.ndarray) -> int:
    """The member of a cell that is next to its mean."""
    mean = masses @ points / masses.sum()
    return int(cell[((points - mean) ** 2).sum(-1).argmin()])


_KNOWN = WeakTensorKeyDictionary()
