"""Published methods that choose the context too, as a simulator allows, and a method for satisficing.

Where nothing is said about the law of the contexts, it is learned from contexts that were observed. Each docstring says
what differs from the paper.
"""

from __future__ import annotations

from typing import Literal

from allweather.acquisition import UCB, KnowledgeGradient, LacingTail, LacingValue, LargestGain, Thompson
from allweather.acquisition.context_rules import LargestDeviation
from allweather.contexts import ContextModel, Discretised, Uniform
from allweather.distances import MMD, ChiSquared
from allweather.distances.base import Radius
from allweather.methods.composition import Composition
from allweather.methods.registry import named
from allweather.objectives import DRO, CVaR, MeanVariance, Objective, RobustSatisficing, VaR, WorstCase
from allweather.surrogates import GP

MATERN = GP("matern", outputscale="fit")
"""The surrogate of all of them: papers have RBF or Matern kernels with fitted hyperparameters."""


@named
def borisk(level: float = 0.3, measure: Literal["cvar", "var"] = "cvar", nodes: int = 12) -> Composition:
    """Decision and context with the largest knowledge gradient of a risk measure (Cakmak et al. 2020, rho-KG).

    The paper estimates the posterior mean of the risk measure by sampling and optimises decisions after the trial; here
    it is the risk measure of the mean function, at nodes of the outcome, and the best of 12 compared decisions.

    Args:
        level: share of the outcomes that counts, or probability of doing worse; one less the paper's alpha.
        measure: conditional value at risk, or value at risk.
        nodes: of the quadrature.
    """
    risk: Objective = CVaR(level) if measure == "cvar" else VaR(level)
    return Composition(None, risk, KnowledgeGradient(nodes=nodes), MATERN, simulator=LargestGain())


@named
def v_ucb(level: float = 0.1, width: float = 2.0) -> Composition:
    """The largest upper bound of the value at risk, in the context of a lacing value (Nguyen et al. 2021a, V-UCB).

    The paper's width grows with the logarithm of the step; here it is constant. Of several lacing values the one with
    the widest band is taken, where the paper takes the likeliest.

    Args:
        level: probability of doing worse.
        width: of the confidence bounds, in standard deviations.
    """
    return Composition(None, VaR(level), UCB(width), MATERN, simulator=LacingValue(width))


@named
def cv_ucb(level: float = 0.1, width: float = 2.0) -> Composition:
    """The largest upper bound of the conditional value at risk, in a lacing value of its tail (Nguyen et al. 2021b).

    The widest value at risk of the tail is sought among 16 levels; the width is constant.

    Args:
        level: share of the outcomes that counts.
        width: of the confidence bounds, in standard deviations.
    """
    return Composition(None, CVaR(level), UCB(width), MATERN, simulator=LacingTail(width))


@named
def drbqo(radius: float = 0.5, context: ContextModel | None = None) -> Composition:
    """The worst mean of a sampled function near the sample of contexts, tried where the deviation is largest.

    Nguyen et al. 2020, Alg. 1: posterior sampling for the worst mean within a chi-squared ball around the empirical
    distribution of a fixed sample. Its radius rho is `radius * n / 2` of n contexts. Give the sample as
    `context=Finite(rows)`, or by `study.observe_contexts(rows)` with `context=Empirical()`.
    """
    return Composition(context, DRO(ChiSquared(radius)), Thompson(), MATERN, simulator=LargestDeviation())


@named
def mva_bo(penalty: float = 1.0, width: float = 2.0) -> Composition:
    """The largest upper bound of mean less variance, tried where the deviation is largest (Iwazaki et al. 2021).

    The scalarised version of MVA-BO in its simulator setting. The paper subtracts the standard deviation and bounds it
    from below; here the variance of the middle of the band is subtracted.
    """
    return Composition(None, MeanVariance(penalty), UCB(width), MATERN, simulator=LargestDeviation())


@named
def robust_entropy_search(contexts: int = 64) -> Composition:
    """The worst case, one step ahead: the trial that is expected to improve it most (after Weichert et al. 2024).

    Robust entropy search takes the trial that says most about the robust optimum, by approximations of an entropy. Here
    the value of a trial is its knowledge gradient instead: the same question, asked in units of the objective.
    """
    return Composition(Uniform(contexts), WorstCase(), KnowledgeGradient(), MATERN, simulator=LargestGain())


@named
def robos(target: float = 0.0, width: float = 2.0, lengthscale: float | None = None) -> Composition:
    """The least fragile decision that reaches a target, by its upper bound (Saday et al. 2023, RoBOS).

    Contexts are met, not chosen. The fragility is the loss per unit of MMD of the upper bound, as in the paper; its
    kernel is the RBF of the median distance unless a lengthscale is given. Give the target: 0 is only a placeholder.

    Args:
        target: the outcome that is good enough, the paper's tau.
        width: of the confidence bound, in standard deviations.
        lengthscale: of the MMD's kernel.
    """
    return Composition(None, RobustSatisficing(target, MMD(0.0, lengthscale)), UCB(width), MATERN)


@named
def drbo_simulator(
    radius: Radius = 0.1, width: float = 2.0, size: int = 100, lengthscale: float | None = None
) -> Composition:
    """The worst mean within an MMD ball, tried where the deviation is largest (Kirschner et al. 2020, simulator).

    The decision is chosen as in `drbo-mmd`, and then the context with the largest posterior deviation.

    Args:
        radius: of the ball, the margin of the paper.
        width: of the confidence bound, in standard deviations.
        size: points of the grid of contexts, at least.
        lengthscale: of the MMD's kernel; by default the median distance.
    """
    objective = DRO(MMD(radius, lengthscale))
    return Composition(Discretised(size), objective, UCB(width), MATERN, simulator=LargestDeviation())
