"""Settings of runs that are known only when the problem is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from allweather.problems import Problem

Setting = TypeVar("Setting")


@dataclass(frozen=True)
class FromProblem(Generic[Setting]):
    """A setting computed from the problem when a run begins: a catalogue of runs is listed without building problems.

    It stands for the setting of a method in a campaign, or for the objective of a measure.

    Example:
        >>> from allweather.problems import problem
        >>> radius = FromProblem(lambda problem: problem.margins["tv"])
        >>> round(resolved(radius, problem("hartmann3")), 3), resolved(0.2, problem("hartmann3"))
        (0.158, 0.2)
    """

    compute: Callable[[Problem], Setting]


def resolved(setting: Any, problem: Problem) -> Any:
    """Return a setting for a problem: the value computed from it, or the setting itself.

    Args:
        setting: of a method or a measure.
        problem: of the run.
    """
    return setting.compute(problem) if isinstance(setting, FromProblem) else setting
