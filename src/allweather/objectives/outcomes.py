"""What is wanted of each of several outcomes: that its objective is large or small, or that it keeps a limit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from allweather._utils.registry import Named
from allweather.distances import Distance
from allweather.errors import is_number, require, require_number
from allweather.objectives.base import Objective
from allweather.objectives.expectation import Expectation
from allweather.objectives.labels import objective_label, radius_label
from allweather.objectives.probability import Probability
from allweather.objectives.risk import VaR
from allweather.surrogates import Surrogate

MEAN = Expectation()


class Outcome(Named, ABC):
    """What is wanted of one of several outcomes."""

    sign: ClassVar[int]
    """1 where larger values are better, -1 where smaller ones are."""
    constrains: ClassVar[bool]
    """Whether it is a limit that must hold, or something to make as large or small as possible."""
    surrogate: Surrogate | None

    @property
    @abstractmethod
    def measure(self) -> Objective | None:
        """The objective of the outcome in the user's direction: what is improved, or what the limit is on."""

    def level(self, objective: Objective) -> float:
        """What an objective of values times `sign` must reach.

        Args:
            objective: the measure, or the outcome itself where the context is known.
        """
        raise NotImplementedError

    @abstractmethod
    def describe(self, name: str) -> str:
        """Return what is wanted as text.

        Args:
            name: of the outcome.
        """


@dataclass(frozen=True)
class Maximize(Outcome):
    """Make an objective of the outcome as large as possible.

    Example:
        >>> Maximize().describe("yield")
        'maximize the mean of yield'
    """

    sign: ClassVar[int] = 1
    constrains: ClassVar[bool] = False

    objective: Objective | None = MEAN
    """What is made large; None for that of the method, where there is one outcome."""
    surrogate: Surrogate | None = None
    """The outcome's own model; the study's if None."""

    def __post_init__(self) -> None:
        _require_parts(self, self.objective)

    @property
    def measure(self) -> Objective | None:
        """The objective."""
        return self.objective

    def describe(self, name: str) -> str:
        """Return the direction and the objective."""
        verb = "maximize" if self.sign > 0 else "minimize"
        return f"{verb} {name}" if self.objective is None else f"{verb} the {objective_label(self.objective, name)}"


@dataclass(frozen=True)
class Minimize(Maximize):
    """Make an objective of the outcome as small as possible."""

    sign: ClassVar[int] = -1


@dataclass(frozen=True)
class AtLeast(Outcome):
    """A lower limit: on an objective of the outcome, or one that holds with a probability.

    `AtLeast(0.95, probability=0.9)` is the chance constraint `VaR(0.1) >= 0.95`. With a distance it holds for every
    context distribution within the radius.

    Example:
        >>> AtLeast(0.95, probability=0.9).describe("purity")
        'purity at least 0.95 with probability 0.9'
    """

    sign: ClassVar[int] = 1
    constrains: ClassVar[bool] = True

    threshold: float
    objective: Objective | None = None
    """What must keep the limit; the mean by default."""
    probability: float | None = None
    """How often the outcome itself must keep it, over contexts."""
    distance: Distance | None = None
    """With a probability: how far the context distribution may shift."""
    surrogate: Surrogate | None = None
    """The outcome's own model; the study's if None."""

    def __post_init__(self) -> None:
        kind = type(self).__name__
        require_number(self.threshold, f"{kind}(threshold=...)")
        _require_parts(self, self.objective)
        given = self.probability
        if given is not None:
            fits = is_number(given) and 0 < given < 1
            require(fits, f"{kind}(probability=...)", "be above 0 and below 1", given)
            alone = self.objective is None
            require(alone, f"{kind}(objective=...)", "not be given with a probability", self.objective)
        shift = self.distance
        fits = shift is None or isinstance(shift, Distance)
        require(fits, f"{kind}(distance=...)", "be a distance such as TotalVariation(0.1)", shift)
        remedy = "for a mean that holds under shifts give `objective=DRO(distance)`"
        require(shift is None or given is not None, f"{kind}(distance=...)", "come with a probability", shift, remedy)

    @property
    def measure(self) -> Objective:
        """The objective that must keep the limit: of a chance constraint the value at risk."""
        if self.probability is None:
            return self.objective or Expectation()
        if self.distance is not None:
            return Probability(self.threshold, self.distance)
        return VaR(1 - self.probability)

    def level(self, objective: Objective) -> float:
        """The threshold in the direction in which larger is better; of a probability the probability."""
        if self.probability is not None and not objective.signed:
            return self.probability
        return self.sign * self.threshold

    def describe(self, name: str) -> str:
        """Return the limit."""
        bound = f"at {'least' if self.sign > 0 else 'most'} {self.threshold:g}"
        if self.probability is None:
            return f"{objective_label(self.measure, name)} {bound}"
        shift = "" if self.distance is None else f" within {radius_label(self.distance)}"
        return f"{name} {bound} with probability {self.probability:g}{shift}"


@dataclass(frozen=True)
class AtMost(AtLeast):
    """An upper limit: on an objective of the outcome, or one that holds with a probability."""

    sign: ClassVar[int] = -1


def check_outcomes(outcomes: Any, taken: Sequence[str]) -> None:
    """Refuse outcomes that a study cannot have.

    Args:
        outcomes: what is wanted of each, by name.
        taken: names that are in use, such as those of the variables.
    """
    where = "Study(outcomes=...)"
    named = isinstance(outcomes, Mapping) and len(outcomes) > 0 and all(isinstance(name, str) for name in outcomes)
    require(named, where, 'be given by name, such as {"yield": Maximize()}', outcomes)
    for name, outcome in outcomes.items():
        require(name.isidentifier(), where, "be named by letters, digits and _, a letter first", name)
        require(name not in taken, where, "not name an outcome like a variable or a column of tables", name)
        fits = isinstance(outcome, Outcome)
        require(fits, f"{where} {name}", "be Maximize(), Minimize(), AtLeast(...) or AtMost(...)", outcome)
        require(outcome.measure is not None, f"{where} {name}", "have an objective", outcome)
    wanted = [name for name, outcome in outcomes.items() if not outcome.constrains]
    require(len(wanted) > 0, where, "hold something to maximize or minimize", list(outcomes))


def _require_parts(outcome: Any, objective: Any) -> None:
    kind, surrogate = type(outcome).__name__, outcome.surrogate
    fits = objective is None or isinstance(objective, Objective)
    require(fits, f"{kind}(objective=...)", "be an objective such as Expectation()", objective)
    fits = surrogate is None or isinstance(surrogate, Surrogate)
    require(fits, f"{kind}(surrogate=...)", "be a surrogate such as GP()", surrogate)
