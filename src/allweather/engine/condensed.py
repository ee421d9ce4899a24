"""Few contexts that stand for all where that saves much: for the spread of objectives, not for their centre."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from allweather.acquisition import Belief
from allweather.acquisition.base import HintedScore

MAX_SLOW_CONTEXTS = 128
"""Limit on the contexts with weight where worst cases take long, and on those without."""
MAX_CONTEXTS, REDUCED_CONTEXTS = 2**14, 2048
"""Above MAX_CONTEXTS: reduce them to REDUCED_CONTEXTS, whatever the objective."""


def condensed(belief: Belief) -> Belief | None:
    """The same belief on few contexts where worst cases take long or contexts are many; None elsewhere.

    Args:
        belief: on all contexts.
    """
    points, weights = belief.reference
    if not belief.objective.slow and len(points) <= MAX_CONTEXTS:
        return None
    most, known = MAX_SLOW_CONTEXTS if belief.objective.slow else REDUCED_CONTEXTS, _KNOWN.get(points)
    if known is None or known[0] is not weights or known[1] != most:
        grouped = belief.reference.grouped(most)
        known = _KNOWN[points] = weights, most, None if grouped is None else grouped[1]
    reference = known[2]
    if reference is None:
        return None
    return replace(belief, reference=reference, bound=None)


class Expected(HintedScore):
    """The objective of the posterior mean as a score, with that on few contexts as its `rough` form."""

    def __init__(self, belief: Belief, rough: Belief) -> None:
        self._belief = belief
        self.rough = rough.expected

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


_KNOWN = WeakTensorKeyDictionary()
