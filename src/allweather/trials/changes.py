"""Changes of a study in its history, and the bounds that hold for reports about earlier trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from allweather.space import Space
from allweather.space.changes import hull


class Change(NamedTuple):
    """A change of the study, such as other bounds."""

    trials: int
    """Number of trials before it."""
    fields: Mapping[str, Any]
    """Fields of the study's spec that are different since, and of each variable what is."""
    before: Space
    """The variables until then."""


def space_since(changes: Sequence[Change], space: Space, trial: int) -> Space:
    """Return the smallest space with all bounds and options since a trial was asked for or added.

    Args:
        changes: of the study.
        space: the present variables.
        trial: its number.
    """
    return hull([*(each.before for each in changes if each.trials > trial), space])
