"""The methods of bocu, kde, phi and wasserstein, and their baselines.

What the papers and their code disagree about is listed in the errata; each docstring says what is run here.
"""

from __future__ import annotations

import math

from allweather.acquisition import UCB, FourierThompson, Random, Thompson
from allweather.contexts import KDE, ContextModel, Discretised, Empirical, Ignored, MeanBox, Uniform
from allweather.distances import KL, MMD, ChiSquared, Distance, TotalVariation, Wasserstein
from allweather.distances.base import Radius
from allweather.errors import require, require_number
from allweather.methods.composition import Composition
from allweather.methods.registry import named
from allweather.objectives import (
    DRO,
    EntropicRisk,
    Expectation,
    General,
    GeneralAtUpper,
    GeneralByDifference,
    LipschitzRegularised,
    MinimaxApproximation,
    Objective,
    RangeRegularised,
    VarianceRegularised,
    WorstCase,
)
from allweather.schedules import DensityRadius, DivergenceRadius, SampleMMDRadius, Schedule, TransportRadius
from allweather.surrogates import GP, KernelAverage, Surrogate


def _matern() -> Surrogate:
    """kde, App. B.1: Matern 5/2 with a lengthscale per column and an outputscale, here as a product of two factors."""
    return GP("matern", outputscale="fit")


def _density(samples: int, unseen: int = 0) -> KDE:
    """kde, App. B.1: Silverman's bandwidth, samples clipped to the box."""
    return KDE(samples, unseen=unseen, bounds="clip", bandwidth="silverman")


def _mmd(lengthscale: float | None, kernel: str | None) -> MMD:
    """kde, App. B.1: the radius of Kirschner et al. 2020, Lemma 3."""
    chosen = kernel or ("surrogate" if lengthscale is None else "rbf")
    return MMD(SampleMMDRadius(), lengthscale, chosen)


@named
def random(context: ContextModel | None = None) -> Composition:
    """Decisions at random; the surrogate only recommends."""
    return Composition(context=context, acquisition=Random())


@named
def gp_ucb(width: float = math.sqrt(1.5), surrogate: Surrogate | None = None) -> Composition:
    """Upper confidence bounds of a surrogate that ignores the context (Srinivas et al. 2010).

    kde and wasserstein say 1.5; this path of their code multiplies by sqrt(1.5) (errata E7).
    """
    return Composition(Ignored(), Expectation(), UCB(width), surrogate)


@named
def sbo_kde(width: float = 1.5, samples: int = 1024, surrogate: Surrogate | None = None) -> Composition:
    """The mean of the upper bound under a kernel density estimate (kde, Alg. 1)."""
    return Composition(_density(samples), Expectation(), UCB(width), surrogate or _matern())


@named
def drbo_kde(
    radius: Radius | None = None, width: float = 1.5, samples: int = 1024, surrogate: Surrogate | None = None
) -> Composition:
    """The worst mean within a total variation of a kernel density estimate (kde, Alg. 2).

    The infimum over the context box is taken over as many Sobol points, inside the box (errata E4).
    """
    chosen = DensityRadius() if radius is None else radius
    belief = _density(samples, unseen=samples)
    return Composition(belief, DRO(TotalVariation(chosen)), UCB(width), surrogate or _matern())


@named
def drbo_mmd(
    width: float = 1.5,
    size: int = 100,
    lengthscale: float | None = None,
    kernel: str | None = None,
    surrogate: Surrogate | None = None,
    context: ContextModel | None = None,
) -> Composition:
    """The worst mean within an MMD ball around the empirical distribution on a grid (Kirschner et al. 2020).

    Args:
        width: of the confidence bound, in standard deviations.
        size: points of the grid, at least.
        lengthscale: of an RBF kernel instead of the published one.
        kernel: of the MMD; by default, as in the code of kde, the surrogate's fitted kernel between contexts (errata
            E14). `"rbf"` without a lengthscale has the median one.
        surrogate: by default that of kde.
        context: another reference distribution than that on the grid.
    """
    objective = DRO(_mmd(lengthscale, kernel))
    return Composition(context or Discretised(size), objective, UCB(width), surrogate or _matern())


@named
def drbo_mmd_minimax(
    width: float = 1.5,
    size: int = 1024,
    lengthscale: float | None = None,
    kernel: str | None = None,
    surrogate: Surrogate | None = None,
) -> Composition:
    """The first-order approximation of DRBO-MMD on a finer grid (Tay et al. 2022), derived from its definition.

    Args:
        width: of the confidence bound, in standard deviations.
        size: points of the grid, at least.
        lengthscale: as in `drbo-mmd`.
        kernel: as in `drbo-mmd`.
        surrogate: by default that of kde.
    """
    objective = MinimaxApproximation(_mmd(lengthscale, kernel))
    return Composition(Discretised(size), objective, UCB(width), surrogate or _matern())


@named
def stableopt(
    width: float = 1.5, samples: int = 1024, surrogate: Surrogate | None = None, everywhere: bool = False
) -> Composition:
    """The worst upper bound within one standard deviation of the mean context (Bogunovic et al. 2018, as in kde).

    Args:
        width: of the confidence bound, in standard deviations.
        samples: Sobol points of the box.
        surrogate: by default that of kde.
        everywhere: the worst over the whole context box instead, as in phi (errata E31).
    """
    belief = Uniform(samples) if everywhere else MeanBox(samples)
    return Composition(belief, WorstCase(), UCB(width), surrogate or _matern())


@named
def erbo(width: float = 1.5) -> Composition:
    """The empirical mean of the upper bound (wasserstein, Sec. 5)."""
    return Composition(Empirical(), Expectation(), UCB(width), GP())


@named
def ledrbo(width: float = 1.5, surrogate: Surrogate | None = None) -> Composition:
    """The empirical mean of the average of the upper bounds of four kernels (Ramazyan and Derkach 2026).

    Known from arXiv:2605.07565 and its code: the contexts seen, the width, the kernels with a lengthscale per column
    and the outcomes' variance, 5 initial trials. The code subtracts the largest disagreement of the models over a batch
    of decisions, which is the same for all of them and so hardly has an effect; it is left out. Ours are the kernels'
    products of decision and context, the fit (there 110 steps of AdamW without priors of lengthscales), the fitted
    constant mean (there 0) and the rational quadratic's exponent of 1 (there fitted).

    Args:
        width: of the confidence bounds, in standard deviations.
        surrogate: by default the average of four kernels.
    """
    average = KernelAverage(surrogate=GP(), bounds="average")
    return Composition(Empirical(), Expectation(), UCB(width), surrogate or average)


@named
def wdrbo(
    radius: float | Schedule | None = None, width: float = 1.5, context: ContextModel | None = None
) -> Composition:
    """The mean of the upper bound less the radius times its steepest slope (wasserstein, Eq. 13).

    The radius is 0.3/sqrt(t); the slope is sought at the contexts seen and at 100 others (errata E16, E17).
    """
    objective = LipschitzRegularised(TransportRadius() if radius is None else radius)
    return Composition(context or Empirical(unseen=100), objective, UCB(width), GP())


@named
def wdrbo_exact(radius: Radius | None = None, width: float = 1.5, context: ContextModel | None = None) -> Composition:
    """The worst mean within a Wasserstein distance itself, of which WDRBO maximises a lower bound."""
    objective = DRO(Wasserstein(TransportRadius() if radius is None else radius))
    return Composition(context or Empirical(unseen=100), objective, UCB(width), GP())


@named
def drbo_chi2(
    radius: float | Schedule | None = None,
    width: float = 1.5,
    contexts: int = 30,
    exact: bool = False,
    context: ContextModel | None = None,
) -> Composition:
    """The worst mean within a chi-squared divergence of uniform contexts (phi, Eq. 4); `exact` for our closed form.

    Args:
        radius: by default that of phi, Sec. 4.2.
        width: of the confidence bound, in standard deviations.
        contexts: number of uniform contexts.
        exact: whether to have the worst case itself, of which the paper's form is a lower bound (errata E25).
        context: another reference distribution than the uniform one.
    """
    chosen = DivergenceRadius("chi-squared") if radius is None else radius
    objective = DRO(ChiSquared(chosen)) if exact else VarianceRegularised(chosen)
    return Composition(context or Uniform(contexts), objective, UCB(width), GP())


@named
def drbo_tv(
    radius: float | Schedule | None = None,
    width: float = 1.5,
    contexts: int = 30,
    exact: bool = False,
    context: ContextModel | None = None,
) -> Composition:
    """The worst mean within a total variation of uniform contexts (phi, Eq. 5); `exact` for our closed form.

    Args:
        radius: by default that of phi, Sec. 4.2.
        width: of the confidence bound, in standard deviations.
        contexts: number of uniform contexts.
        exact: whether to have the worst case itself, of which the paper's form is a lower bound (errata E25).
        context: another reference distribution than the uniform one.
    """
    chosen = DivergenceRadius("total-variation") if radius is None else radius
    objective = DRO(TotalVariation(chosen)) if exact else RangeRegularised(chosen)
    return Composition(context or Uniform(contexts), objective, UCB(width), GP())


@named
def drbo_kl(
    radius: float | Schedule | None = None,
    width: float = 1.5,
    contexts: int = 30,
    multiplier: float | None = None,
    printed: bool = False,
    context: ContextModel | None = None,
) -> Composition:
    """The worst mean within a KL divergence of uniform contexts (phi, Ex. 15).

    Args:
        radius: by default that of phi, Sec. 4.2.
        width: of the confidence bound, in standard deviations.
        contexts: number of uniform contexts.
        multiplier: the lambda of Ex. 15, in units of the outcome, held fixed instead of maximised over. No decision
            depends on the radius then.
        printed: whether to have the acquisition as Eq. 34 prints it: the mean of the upper bound less
            `lambda * radius`. No decision depends on either then (errata E26).
        context: another reference distribution than the uniform one.
    """
    both = printed and multiplier is not None
    require(not both, "method('drbo-kl', multiplier=...)", "be left out where printed=True", multiplier)
    chosen = DivergenceRadius("kl") if radius is None else radius
    objective: Objective = Expectation() if printed else DRO(KL(chosen))
    if multiplier is not None:
        require_number(multiplier, "method('drbo-kl', multiplier=...)", above=0)
        objective = EntropicRisk(1 / multiplier)
    return Composition(context or Uniform(contexts), objective, UCB(width), GP())


BOCU_WIDTH = math.sqrt(2)
"""bocu, App. C.1: `sqrt(beta_t)` with `beta_t = 2` in all UCB methods; its code uses other widths (errata E33)."""


def _bocu(distance: Distance | None) -> Distance:
    return TotalVariation(0.2) if distance is None else distance


@named
def ts_bocu(
    alpha: float = 1.0,
    beta: float = 0.0,
    distance: Distance | None = None,
    context: ContextModel | None = None,
    exact: bool = False,
) -> Composition:
    """Thompson sampling of `alpha v + beta delta` (bocu, Alg. 1).

    The published code samples a linear model on cosine and sine of 1024 random frequencies, with 2048 weights
    (errata E40).

    Args:
        alpha: weight of the worst case v.
        beta: weight of its derivative delta in the radius.
        distance: with the radius; by default `TotalVariation(0.2)`.
        context: the context model, where the study gives none.
        exact: whether to sample the posterior itself instead.
    """
    sampler = Thompson() if exact else FourierThompson()
    return Composition(context, General(alpha, beta, _bocu(distance)), sampler)


@named
def ucb_bocu(
    alpha: float = 1.0,
    beta: float = 0.0,
    distance: Distance | None = None,
    width: float = BOCU_WIDTH,
    context: ContextModel | None = None,
) -> Composition:
    """Upper bounds of `alpha v + beta delta`, in total variation exact for each term: what bocu calls intractable.

    The width is sqrt(2), as the text says; the published code takes the objective's beta (errata E33).
    """
    return Composition(context, General(alpha, beta, _bocu(distance)), UCB(width))


@named
def ucb_bocu_1(
    alpha: float = 1.0,
    beta: float = 0.0,
    distance: Distance | None = None,
    width: float = BOCU_WIDTH,
    context: ContextModel | None = None,
) -> Composition:
    """`alpha v + beta delta` with a difference of upper and lower bound for delta (bocu, App. C.2)."""
    return Composition(context, GeneralByDifference(alpha, beta, _bocu(distance)), UCB(width))


@named
def ucb_bocu_2(
    alpha: float = 1.0,
    beta: float = 0.0,
    distance: Distance | None = None,
    width: float = BOCU_WIDTH,
    context: ContextModel | None = None,
) -> Composition:
    """`alpha v + beta delta` with the upper bound's own delta (bocu, App. C.2)."""
    return Composition(context, GeneralAtUpper(alpha, beta, _bocu(distance)), UCB(width))


@named
def ucb_so(width: float = BOCU_WIDTH, context: ContextModel | None = None) -> Composition:
    """The mean of the upper bound under the reference (Kirschner et al. 2020, bocu's baseline)."""
    return Composition(context, Expectation(), UCB(width))


@named
def ucb_ro(width: float = BOCU_WIDTH, context: ContextModel | None = None) -> Composition:
    """The worst upper bound over all contexts (bocu's baseline)."""
    return Composition(context, WorstCase(), UCB(width))
