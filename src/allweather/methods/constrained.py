"""Published methods for several outcomes: what is wanted of each is given to the study, `Study(outcomes=...)`.

Each docstring says which outcomes it is about, and what differs from the paper. `bpt-ucb` has one outcome.
"""

from __future__ import annotations

from collections.abc import Sequence

from allweather.acquisition import MARS, UCB, LargestDeviation, LowestBound
from allweather.contexts import ContextModel, Uniform
from allweather.methods.composition import Composition
from allweather.methods.registry import named
from allweather.methods.simulated import MATERN
from allweather.objectives import Probability


@named
def drcc(width: float = 2.0, context: ContextModel | None = None) -> Composition:
    """Distributionally robust chance constraints, for a simulator (Inatsu et al. 2022).

    For `outcomes={"gain": Maximize(DRO(d)), "purity": AtLeast(h, probability=p, distance=d)}` with a distance d such as
    `TotalVariation(radius)`. The paper bounds the worst probability by confidence bounds of the constraint at every
    context and intersects them over time; here it is that of the upper bound at each step, on a continuous space, with
    a penalty where it stays behind. The context is the one of the largest deviation of the outcome that is least
    certain, where the paper adds the deviations up.

    Args:
        width: of the confidence bounds, in standard deviations.
        context: the law of the contexts; learned from contexts that were observed if None.
    """
    return Composition(context, None, UCB(width), MATERN, simulator=LargestDeviation())


@named
def bpt_ucb(threshold: float = 0.0, width: float = 2.0) -> Composition:
    """The largest upper bound of the probability of reaching a threshold (Iwazaki et al. 2021b, BPT-UCB).

    The paper bounds the probability by its posterior variance; here it is the probability at the upper bound of the
    function, with contexts that are met. Give the threshold: 0 is only a placeholder.

    Args:
        threshold: what the outcome should reach.
        width: of the confidence bound, in standard deviations.
    """
    return Composition(None, Probability(threshold), UCB(width), MATERN)


@named
def carbo(width: float = 2.0, contexts: int = 64) -> Composition:
    """Worst cases of the objective and of constraints, for a simulator (after Kudva et al. 2022, CARBO).

    For `outcomes={"gain": Maximize(WorstCase()), "limit": AtLeast(0, WorstCase())}`. The decision has the largest upper
    bound where upper bounds of all constraints hold, by a penalty; the paper solves that problem exactly. The context
    is that of the lowest lower bound of the outcome that is least certain; the paper's is that of one penalised sum.

    Args:
        width: of the confidence bounds, in standard deviations.
        contexts: where the worst case is looked for, spread over the box.
    """
    return Composition(Uniform(contexts), None, UCB(width), MATERN, simulator=LowestBound(width))


@named
def mars(
    level: float = 0.1,
    samples: int = 32,
    context: ContextModel | None = None,
    reference_point: Sequence[float] | None = None,
) -> Composition:
    """The value at risk of random scalarisations of several outcomes (Daulton et al. 2022, MARS).

    For `outcomes={"gain": Maximize(VaR(level)), "waste": Minimize(VaR(level))}`. Decisions are chosen as in the paper,
    by the noisy expected improvement of the scalarisation's value at risk, with contexts in place of input noise (see
    `integrations.botorch.InputNoise`) and one decision at a time. `front()` and `recommend()` show the value at risk of
    each outcome, not the multivariate one (MVaR), whose set the paper reports.

    Args:
        level: probability of doing worse; one less the paper's alpha.
        samples: of the posterior.
        context: the law of the contexts; learned if None.
        reference_point: what outcomes shall exceed, in their order, times -1 where they are minimized.
    """
    point = None if reference_point is None else tuple(reference_point)
    return Composition(context, None, MARS(level, samples, point), MATERN)
