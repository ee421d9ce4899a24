"""The parts of a study that its user leaves open, for each goal.

They were chosen by the campaigns `python -m benchmarks default_choice`, `control_defaults` and, for simulators,
`simulator`, on seeds below 100; `defaults` and `league` compare them with others on held-out seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from allweather.acquisition import UCB, Acquisition, ExpectedImprovement, ObjectiveUCB, OnlineKnowledgeGradient
from allweather.acquisition.context_rules import MostInfluential
from allweather.contexts import KDE, ContextModel, Empirical
from allweather.distances import TotalVariation
from allweather.methods.goals import EVERY_TRIAL, PUBLISHED, RECOMMENDATION, SIMULATION
from allweather.objectives import DRO, Expectation, Objective, Outcome
from allweather.schedules import DensityRadius
from allweather.space import Space
from allweather.space.variables import Context, Real, Variable
from allweather.surrogates import GP, KernelAverage, Surrogate
from allweather.surrogates.gp.priors import LogNormalPriors

__all__ = ["CONTEXT_RULE", "DEFAULTS", "EVERY_TRIAL", "PUBLISHED", "RECOMMENDATION", "SIMULATION", "Defaults"]

CONTEXT_RULE = MostInfluential(samples=64, drawn=8)
"""How contexts are chosen where nothing else is said than `simulator=True`."""


class Defaults(NamedTuple):
    """Parts for what a user leaves open."""

    context: ContextModel
    objective: Objective
    acquisition: Acquisition
    surrogate: Surrogate


def every_trial(space: Space) -> Defaults:
    """The mean under what was learned about contexts, and what a trial adds to the mean of those to come."""
    return Defaults(_learned(space), Expectation(), OnlineKnowledgeGradient(), default_surrogate())


def recommendation(space: Space) -> Defaults:
    """As for every trial, with an upper confidence bound of that mean. Under limits see `default_acquisition`."""
    return Defaults(_learned(space), Expectation(), ObjectiveUCB(1.0), default_surrogate())


def default_acquisition(
    goal: str,
    outcomes: Sequence[Outcome],
    objective: Objective | None,
    surrogate: object,
    controlled: bool,
    cautious: bool,
) -> Acquisition | None:
    """Return the acquisition of a study whose user leaves it open, where that of its goal is not the one that is best.

    With one objective and limits, where only the recommendation counts, it is expected improvement: optimism about
    objective and limits costs less on the way, but may stay on the first island of feasible decisions that it finds
    (`python -m benchmarks constraints`). Cautious studies and objectives whose worst cases take long are left alone.
    Where every trial counts, control sets, several outcomes, objectives other than the mean, and surrogates of one's
    own have the upper confidence bound: the knowledge gradient was chosen for the mean of one outcome, and needs
    covariances.

    Args:
        goal: of the study.
        outcomes: what is wanted of each.
        objective: that of the user, or None; outcomes may have their own.
        surrogate: likewise.
        controlled: whether there are control sets.
        cautious: whether only decisions that are likely to keep all limits are tried.
    """
    wanted = [outcome for outcome in outcomes if not outcome.constrains]
    measure = wanted[0].measure
    limited = len(wanted) == 1 < len(outcomes)
    if goal == RECOMMENDATION and limited and not cautious and measure is not None and not measure.slow:
        return ExpectedImprovement()
    mean = type(measure or objective or Expectation()) is Expectation
    own = surrogate is not None and not isinstance(surrogate, GP | KernelAverage)
    if goal == EVERY_TRIAL and (controlled or len(outcomes) > 1 or own or not mean):
        return ObjectiveUCB(1.0)
    return None


def simulation(space: Space) -> Defaults:
    """As for a recommendation, with a wider bound: runs of a simulator are experiments."""
    return Defaults(_learned(space), Expectation(), ObjectiveUCB(2.0), default_surrogate())


def published(space: Space) -> Defaults:
    """What papers leave open: as in DRBO-KDE (kde, Alg. 2), with an RBF kernel."""
    robust = DRO(TotalVariation(DensityRadius())) if len(space.contexts) else Expectation()
    smooth = all(isinstance(kind, Real) for kind in _kinds(space))
    context = KDE(bandwidth="silverman", bounds="clip") if smooth else Empirical()
    return Defaults(context, robust, UCB(1.5), GP())


def default_surrogate() -> GP:
    """Matern 5/2 with a fitted outputscale and priors of ordinary width; heavy-tailed outcomes are transformed."""
    return GP("matern", outputscale="fit", transform="auto", priors=LogNormalPriors())


def _learned(space: Space) -> ContextModel:
    return KDE() if any(isinstance(kind, Real) for kind in _kinds(space)) else Empirical()


def _kinds(space: Space) -> list[Variable]:
    return [variable.variable if isinstance(variable, Context) else variable for variable in space.contexts.values()]


DEFAULTS: dict[str, Callable[[Space], Defaults]] = {
    EVERY_TRIAL: every_trial,
    RECOMMENDATION: recommendation,
    SIMULATION: simulation,
    PUBLISHED: published,
}
"""By goal."""
