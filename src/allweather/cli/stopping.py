"""Stop a run once no decision can be much better than the recommended one."""

from __future__ import annotations

from dataclasses import dataclass

from allweather.errors import InvalidInput, require_number
from allweather.study import Study

OPTION = "run --until-gain"


@dataclass(eq=False)
class GainRule:
    """The rule of `run --until-gain`: whether the possible gain of a study is small enough.

    Example:
        >>> from allweather import Context, Real, Space
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> rule = GainRule(study, limit=100.0)
        >>> rule.reason()
        ''
        >>> _ = study.add([{"order": o / 6, "demand": 0.5, "value": -((o / 6 - 0.4) ** 2)} for o in range(7)])
        >>> rule.reason().startswith("The possible gain is ")
        True
    """

    study: Study
    limit: float
    """The possible gain at which a run stops, in the objective's units."""
    possible: float | None = None
    """The possible gain when it was computed last; None before, and where the model is too poor to tell."""

    def __post_init__(self) -> None:
        require_number(self.limit, OPTION, low=0)

    def reason(self) -> str:
        """Return why a run stops, as a sentence; empty if it continues or the initial design is not complete.

        A run continues, too, while the model is too poor to tell.

        Raises:
            InvalidInput: if the possible gain of this study is not known.
        """
        if (self.study.trials()["state"] == "complete").sum() < self.study.initial:
            return ""
        best = self.study.recommend()
        if best.possible_gain is None:
            raise _unknown_gain()
        self.possible = best.possible_gain if best.gain_known else None
        if self.possible is None or self.possible > self.limit:
            return ""
        return (
            f"The possible gain is {self.possible:.4g}, at most {self.limit:g}: with 95% probability no decision has "
            "an objective that is better by more."
        )


def _unknown_gain() -> InvalidInput:
    return InvalidInput(
        "needs an objective whose possible gain is known, which this one's is not",
        where=OPTION,
        remedy="leave the option out, and limit the run with --trials",
    )
