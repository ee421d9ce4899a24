"""What a run has reached: the recommendation after the last complete trial, and whether little is left to gain."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from allweather._utils.formatting import row
from allweather.engine import Recommendation
from allweather.errors import InvalidInput, require_number
from allweather.trials import Trial
from allweather.trials.text import outcome

if TYPE_CHECKING:
    from allweather.study.study import Study


@dataclass(eq=False)
class Standing:
    """The best decision so far, and whether a run may stop.

    Example:
        >>> from allweather import Context, Real, Space, Study
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> standing = Standing(study, until_gain=100.0)
        >>> standing.reason()
        ''
        >>> _ = study.add([{"order": o / 6, "demand": 0.5, "value": -((o / 6 - 0.4) ** 2)} for o in range(7)])
        >>> standing.reason().startswith("The possible gain is ")
        True
    """

    study: Study
    until_gain: float | None = None
    """The possible gain at which a run stops, in the objective's units; None where it does not."""
    where: str = "Study.optimize(until_gain=...)"
    """What errors call the limit."""
    best: Recommendation | None = None
    """The recommendation after the last complete trial; None before the initial design is complete."""

    def __post_init__(self) -> None:
        if self.until_gain is not None:
            require_number(self.until_gain, self.where, low=0)

    @property
    def possible(self) -> float | None:
        """The possible gain; None before the initial design is complete, and where the model is too poor to tell."""
        return self.best.possible_gain if self.best is not None and self.best.gain_known else None

    def reason(self) -> str:
        """Return why a run stops, as a sentence; empty if it continues or the initial design is not complete.

        A run continues, too, while the model is too poor to tell.
        """
        if sum(trial.state == "complete" for trial in self.study.history.trials) < self.study.initial:
            return ""
        if self.until_gain is None:
            with suppress(InvalidInput):  # nothing can be recommended yet
                self.best = self.study.recommend()
            return ""
        self.best = self.study.recommend()
        if self.possible is None or self.possible > self.until_gain:
            return ""
        return (
            f"The possible gain is {self.possible:.4g}, at most {self.until_gain:g}: with 95% probability "
            f"{self.best.gain_meaning}."
        )

    def line(self, trial: Trial) -> str:
        """Return what happened to a trial and what has been reached, on one line.

        Args:
            trial: after it was told.
        """
        context = trial.context or trial.partial
        seen = f", {row(context)}" if context else ""
        reason = f" ({trial.reason})" if trial.reason else ""
        done = f"trial {trial.number} is {trial.state}: {row(trial.decision)}{seen} gave {outcome(trial)}{reason}"
        if self.best is None:
            return done
        left = "" if self.possible is None else f", possible gain {self.possible:.3g}"
        return f"{done}; best so far {self.best.value:.4g}{left}"
