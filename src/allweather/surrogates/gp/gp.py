"""The default surrogate: a Gaussian process on decisions and contexts, fitted to the maximum of its posterior."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from allweather.errors import MAX_COUNT, InvalidInput, is_number, require, require_count, require_number
from allweather.space import Space
from allweather.surrogates.approximations.inducing import InducingPosterior
from allweather.surrogates.base import Posterior, Surrogate
from allweather.surrogates.gp.hyperparameter_draws import hyperparameter_draws
from allweather.surrogates.gp.hyperparameter_fit import Evidence
from allweather.surrogates.gp.known_noise import centre_and_scale, known_variances
from allweather.surrogates.gp.outcome_transform import PLACES, places_for
from allweather.surrogates.gp.outliers import find_outliers
from allweather.surrogates.gp.priors import PUBLISHED, Priors
from allweather.surrogates.gp.varying_noise import MIN_OUTCOMES_PER_SLOPE, SIGNIFICANCE, chance_of_constant_noise
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.kernels import over_columns, require_family
from allweather.surrogates.observations import Observations
from allweather.surrogates.posteriors.leave_one_out import log_predictive_density
from allweather.surrogates.posteriors.mixture import MixturePosterior
from allweather.surrogates.posteriors.product import ProductPosterior
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior, transformed_outcomes

NO_NOISE = 1e-6
"""Variance that replaces a noise of 0, in units of the outcomes' variance: keeps factorisations stable."""
OUTCOMES_PER_COLUMN_TO_AVERAGE = 10
"""Below this many outcomes per column, average over hyperparameters where `draws` asks for it."""
MIN_DENSITY_GAIN, MIN_NOISE_DENSITY_GAIN = 0.1, 0.03
"""Transform outcomes, or let noise vary, if that raises the leave-one-out log density by so much per outcome."""
MAX_TESTED_OUTCOMES = 512
"""Above this many outcomes, test on a random subset of this size whether noise varies."""
OUTCOMES_PER_COLUMN_TO_AVERAGE_INTERVALS = 30
"""Below this many outcomes per column, average intervals over hyperparameters."""
MAX_AVERAGED_OUTCOMES = 250
"""Above this many outcomes, do not average: hyperparameters are determined, and averaging is slow."""
MAX_COMPARED_OUTCOMES = 50
"""Above this many outcomes, compare transforms on a random subset of this size."""
TRANSFORM_REVIEW_PERIOD = 30
"""Below this many outcomes, compare transforms at every fit; from there on, at every multiple of it."""
MAX_FIT_OUTCOMES = 1024
"""Above this many outcomes, fit hyperparameters to a random subset of this size; the posterior uses all."""
MAX_FIT_STEPS, COMPARISON_STEPS = 100, 5
"""Limits on the iterations of a fit, and of one that only compares transforms."""
FIRST_FIT_OUTCOMES, REFINE_STEPS = 256, 12
"""Above MAX_FIT_OUTCOMES: fit on FIRST_FIT_OUTCOMES, then refine on MAX_FIT_OUTCOMES for REFINE_STEPS iterations."""
MAX_CPU_OUTCOMES = 255
"""Up to this many outcomes, fit hyperparameters on the CPU, whatever device they are on."""
MAX_EXACT_OUTCOMES = 2000
"""Above this many outcomes, use inducing points (`python -m benchmarks trials`)."""

log = logging.getLogger("allweather")


@dataclass(frozen=True, eq=False)
class GP(Surrogate):
    """A GP whose hyperparameters are fitted, or fixed where you give them (bocu and subsets fix all).

    What you give is in the outcome's units; inside, outcomes are standardised.

    Example:
        >>> table = Observations.of([[0.0], [0.5], [1.0]], [[0.5]] * 3, [0.0, 1.0, 0.0])
        >>> posterior = GP(noise=0.01).fit(table)
        >>> mean, sd = posterior.field(table.contexts[:1])(table.decisions)
        >>> mean.round(decimals=2).flatten().tolist()
        [0.0, 1.0, 0.0]
    """

    kernel: str = "rbf"
    """`rbf`, or a product of a factor of the decision and one of the context: `matern32`, `matern52` (`matern`),
    `rational-quadratic` (of exponent 1).

    With `-columns` at the end they are a product of one factor per column: `matern-columns`. With control sets, where
    each variable may be decision or context, the former stand for the latter.
    """
    lengthscales: float | Sequence[float] | Mapping[str, float] | None = None
    """In the unit cube: one for all, one per column, or by variable; fitted if not given."""
    outputscale: float | Literal["fit"] | None = None
    """Prior variance: a number, `"fit"`, or by default the variance of the outcomes."""
    noise: float | None = None
    """Standard deviation of the noise; fitted if not given. 0 stands for a thousandth of the outcomes' deviation."""
    mean: float | None = None
    """The prior's constant mean; fitted if not given."""
    priors: Priors = PUBLISHED
    """Of the hyperparameters that are fitted."""
    draws: int = 0
    """Hyperparameters the posterior is averaged over while data are few; 0 for the best alone."""
    interval_draws: int = 32
    """Hyperparameters that intervals of objectives are averaged over, while data do not settle them; 0 for the best."""
    transform: Literal["auto", "none"] = "none"
    """`auto` transforms outcomes with heavy tails where that predicts them better (leave-one-out density).

    Means, samples and objectives come back in the outcome's units. A noise, mean or outputscale that is given is one of
    the outcomes as they are: then nothing is transformed.
    """
    varying_noise: bool | None = None
    """Whether noise may depend on decision and context, where residuals say so (leave-one-out density).

    Its log variance is linear in the columns. By default it may where outcomes may be transformed; never with a noise
    that is given.
    """

    outliers: Literal["auto", "none"] = "none"
    """`auto` leaves outcomes out that all others contradict by far, where that predicts the others better.

    They are looked for anew at every fit, so that one comes back when later outcomes confirm it. Their contexts still
    count.
    """

    def __post_init__(self) -> None:
        require_family(self.kernel, "GP(kernel=...)")
        given = self.lengthscales
        if given is not None:
            listed = list(given.values()) if isinstance(given, Mapping) else given
            for number in [listed] if is_number(listed) else listed:  # type: ignore[union-attr]
                require_number(number, "GP(lengthscales=...)", above=0)
        if self.outputscale not in (None, "fit"):
            require_number(self.outputscale, "GP(outputscale=...)", above=0)
        if self.noise is not None:
            require_number(self.noise, "GP(noise=...)", low=0)
        if self.mean is not None:
            require_number(self.mean, "GP(mean=...)")
        require_count(self.draws, "GP(draws=...)", high=MAX_COUNT)
        require_count(self.interval_draws, "GP(interval_draws=...)", high=MAX_COUNT)
        require(self.transform in ("auto", "none"), "GP(transform=...)", "be auto or none", self.transform)
        require(self.outliers in ("auto", "none"), "GP(outliers=...)", "be auto or none", self.outliers)

    def on(self, space: Space) -> Self:
        """This GP with its lengthscales by column of the space."""
        columns = space.decisions.columns + space.contexts.columns
        given = self.lengthscales
        if isinstance(given, Mapping):
            variables = [*space.decisions.items(), *space.contexts.items()]
            names = [name for name, _ in variables]
            require(set(given) == set(names), "GP(lengthscales=...)", f"name exactly {names}", dict(given))
            return replace(self, lengthscales=[given[n] for n, variable in variables for _ in range(variable.columns)])
        if given is not None and not is_number(given):
            require(len(given) == columns, "GP(lengthscales=...)", f"be {columns} numbers, one per column", given)  # type: ignore[arg-type]
        return self

    def over_columns(self) -> Self:
        """This GP with a Matern per column, in place of one of the decision and one of the context."""
        return replace(self, kernel=over_columns(self.kernel))

    def facing(self, sign: int) -> Self:
        """The same prior for outcomes times `sign`."""
        return self if self.mean is None else replace(self, mean=sign * self.mean)

    def fit(self, observations: Observations, start: Hyperparameters | None = None) -> Posterior:
        """The posterior at the best hyperparameters found, or averaged over some where data are few."""
        if not len(observations):
            raise InvalidInput("`GP.fit(observations=...)` must hold at least one outcome, got none")
        fitted = self._fit(observations, start)
        if self.outliers == "none":
            return fitted
        found, others = find_outliers(observations, fitted, lambda rows: self._fit(rows, start), start)
        best = others.hyperparameters
        return self.resume(observations, replace(best, outliers=found)) if found and best is not None else others

    def _fit(self, observations: Observations, start: Hyperparameters | None) -> Posterior:
        """The posterior of outcomes, none of which is an outlier."""
        place, start, fitted = self._place(observations, start)
        best = fitted or self._fitted(observations, start, place)[0]
        posterior = self.resume(observations, best)
        varying = self._with_slopes(observations, posterior, best)
        return posterior if varying is None else self.resume(observations, varying)

    def resume(self, observations: Observations, fitted: Hyperparameters) -> Posterior:
        """The posterior at these hyperparameters, as they are, or averaged over draws around them."""
        observations = observations.without(fitted.outliers)
        transformed, transform = transformed_outcomes(observations, fitted.transform)
        few = len(observations) < OUTCOMES_PER_COLUMN_TO_AVERAGE * observations.joint.shape[1]
        inner = self._mixed(transformed, fitted, self.draws if few else 0)
        return inner if transform is None else TransformedPosterior(inner, transform)

    def wary(self, observations: Observations, posterior: Posterior, level: float) -> Posterior:
        """Return `averaged`, but with constant means that are not above the level."""
        return self.averaged(observations, posterior, level)

    def averaged(self, observations: Observations, posterior: Posterior, most: float | None = None) -> Posterior:
        """Return the posterior averaged over `interval_draws` hyperparameters, or itself where data settle them.

        Variances are multiplied by `t / (t - p)` for p unknowns fitted to t outcomes, as in regression: where the
        density of few outcomes is largest, functions are too certain.
        """
        observations = observations.without(posterior.outliers)
        fitted, t = posterior.hyperparameters, len(observations)
        few = t < min(OUTCOMES_PER_COLUMN_TO_AVERAGE_INTERVALS * observations.joint.shape[1], MAX_AVERAGED_OUTCOMES)
        if fitted is None or not few or not self.interval_draws:
            return posterior
        transformed, transform = transformed_outcomes(observations, fitted.transform)
        unknowns = self._unknowns(observations) + len(fitted.noise_slopes)
        inflation = t / max(t - unknowns, t / 3)
        if most is not None and transform is not None:
            most = float(transform(torch.tensor(most, dtype=torch.float64)))
        inner = self._mixed(transformed, fitted, self.interval_draws, inflation, most)
        return inner if transform is None else TransformedPosterior(inner, transform)

    def _with_slopes(
        self, observations: Observations, posterior: Posterior, constant: Hyperparameters
    ) -> Hyperparameters | None:
        """Hyperparameters under which noise depends on the columns; None where the residuals do not ask for it.

        Args:
            observations: the outcomes.
            posterior: of these, with constant noise.
            constant: the hyperparameters of that posterior.
        """
        may = self.transform == "auto" if self.varying_noise is None else self.varying_noise
        unknown = None if observations.sds is None else observations.sds.isnan()
        count = len(observations) if unknown is None else int(unknown.sum())
        if not may or self.noise is not None or count < MIN_OUTCOMES_PER_SLOPE * (observations.joint.shape[1] + 1):
            return None
        transformed = transformed_outcomes(observations, constant.transform)[0]
        tested = self._at(posterior)
        if len(observations) > MAX_TESTED_OUTCOMES:
            chosen = _some(len(observations), MAX_TESTED_OUTCOMES)
            tested = self._best(transformed.rows(chosen), constant)
            unknown = None if unknown is None else unknown[torch.from_numpy(chosen)]
        if chance_of_constant_noise(tested, unknown) >= SIGNIFICANCE:
            return None
        start = replace(constant, noise_slopes=(0.0,) * len(constant.lengthscales))
        varying = self._climbed(transformed, [start])
        gained = log_predictive_density(self._best(transformed, varying)) - log_predictive_density(self._at(posterior))
        return varying if gained > MIN_NOISE_DENSITY_GAIN * len(observations) else None

    @staticmethod
    def _at(posterior: Posterior) -> ProductPosterior:
        """The posterior at the best hyperparameters, of outcomes as they are transformed."""
        inner = posterior.inner if isinstance(posterior, TransformedPosterior) else posterior
        best = inner.best if isinstance(inner, MixturePosterior) else inner
        assert isinstance(best, ProductPosterior)  # what `resume` makes
        return best

    def _place(
        self, observations: Observations, start: Hyperparameters | None
    ) -> tuple[str, Hyperparameters | None, Hyperparameters | None]:
        """What outcomes are transformed around, or nothing, where the fit starts, and the fit where it is done already.

        Of many outcomes some are looked at, with few steps of each fit, and only places away from the heavy tail. Once
        there are some tens of outcomes the last choice holds, and is reviewed now and then.
        """
        t, places = len(observations), self._places(observations.values)
        if (
            start is not None
            and t >= TRANSFORM_REVIEW_PERIOD
            and t % TRANSFORM_REVIEW_PERIOD
            and start.transform in ("", *places)
        ):
            return start.transform, start, None
        if not places:
            return "", start, None
        some = observations.rows(_some(t, MAX_COMPARED_OUTCOMES))
        steps = COMPARISON_STEPS if len(some) < t else None
        compared = places_for(observations.values) if steps else places
        fits = {place: self._fitted(some, start, place, steps) for place in ("", *compared)}
        reached = {place: density for place, (_, density) in fits.items()}
        reached[""] += MIN_DENSITY_GAIN * len(some)
        place = max(reached, key=reached.__getitem__)
        place = place if transformed_outcomes(observations, place)[1] is not None else ""
        return (place, fits[place][0], None) if steps else (place, start, fits[place][0])

    def _fitted(
        self, observations: Observations, start: Hyperparameters | None, place: str, steps: int | None = None
    ) -> tuple[Hyperparameters, float]:
        """The best hyperparameters found, and the leave-one-out log density of the outcomes if it is to be compared."""
        transformed, transform = transformed_outcomes(observations, place)
        if place and transform is None:
            return self.priors.typical(1, 1), -math.inf
        values, d = transformed.values, transformed.joint.shape[1]
        shift, scale = centre_and_scale(values, transformed.sds)
        typical = self.priors.typical(d, transformed.decisions.shape[1])
        typical = self._held(replace(typical, transform=place), transformed, shift, scale)
        starts = [typical]
        if start is not None and len(start.lengthscales) == d and start.transform == place:
            warm = self._held(replace(start, noise_slopes=()), transformed, shift, scale)
            # With many data the last optimum is near; with few, the best one may have moved far.
            starts = [warm, typical] if len(values) < 30 else [warm]
        fitted = self._climbed(transformed, starts, steps)
        if not self._places(observations.values):
            return fitted, 0.0
        gained = 0.0 if transform is None else float(transform.log_jacobian(observations.values).sum())
        return fitted, log_predictive_density(self._best(transformed, fitted)) + gained

    def _climbed(
        self, observations: Observations, starts: list[Hyperparameters], steps: int | None = None
    ) -> Hyperparameters:
        """The best hyperparameters found from some starts; of many outcomes, first on few of them."""
        many = len(observations) > MAX_FIT_OUTCOMES
        slopes = starts[0].noise_slopes
        evidence = self._evidence(observations, slopes, FIRST_FIT_OUTCOMES if many else MAX_FIT_OUTCOMES)
        best = min((evidence.fit(each, steps or MAX_FIT_STEPS) for each in starts), key=lambda found: found[1])[0]
        if not many:
            return best
        log.info("hyperparameters fitted to %d of %d outcomes", FIRST_FIT_OUTCOMES, len(observations))
        best = self._evidence(observations, best.noise_slopes).fit(best, REFINE_STEPS)[0]
        log.info("hyperparameters fitted to %d of %d outcomes", MAX_FIT_OUTCOMES, len(observations))
        return best

    def _mixed(
        self, data: Observations, fitted: Hyperparameters, draws: int, inflation: float = 1.0, most: float | None = None
    ) -> ProductPosterior | MixturePosterior:
        best = self._best(data, fitted)
        if not draws:
            return best
        drawn, effective = hyperparameter_draws(self._evidence(data, fitted.noise_slopes), fitted, draws)
        # Both together leave the mean as it is and multiply the variance.
        drawn = [
            replace(each, outputscale=inflation * each.outputscale, noise=inflation * each.noise) for each in drawn
        ]
        if most is not None and self.mean is None:
            shift, scale = centre_and_scale(data.values, data.sds)
            drawn = [replace(each, mean=min(each.mean, (most - shift) / scale)) for each in drawn]
        return MixturePosterior(best, tuple(self._best(data, each, inflation) for each in drawn), effective)

    def _unknowns(self, observations: Observations) -> int:
        """How many numbers were fitted to the outcomes; a variance that is theirs is one."""
        return int(self._free(observations).sum()) + (self.mean is None) + (self.outputscale is None)

    def _best(self, observations: Observations, fitted: Hyperparameters, inflation: float = 1.0) -> ProductPosterior:
        kind = ProductPosterior if len(observations) <= MAX_EXACT_OUTCOMES else InducingPosterior
        split, sds = observations.decisions.shape[1], observations.sds
        return kind.of(self.kernel, split, fitted, observations.joint, observations.values, sds, inflation)

    def _places(self, values: Tensor) -> tuple[str, ...]:
        """What transforms to compare are centred on: none where no tail is heavy or a unit of the outcomes is given."""
        units = self.noise is not None or self.mean is not None or is_number(self.outputscale)
        return PLACES if self.transform == "auto" and not units and places_for(values) else ()

    def _evidence(
        self, observations: Observations, slopes: tuple[float, ...] = (), limit: int = MAX_FIT_OUTCOMES
    ) -> Evidence:
        """The outcomes that hyperparameters are fitted to, standardised: at most so many, drawn from all."""
        points, values = observations.joint, observations.values
        shift, scale = centre_and_scale(values, observations.sds)
        enough = _some(len(values), limit)
        targets, noise = (values - shift) / scale, known_variances(observations.sds, scale)
        split, free = observations.decisions.shape[1], self._free(observations)
        known = None if noise is None else noise[enough].cpu()
        # Small computations are faster on the processor, and noise that differs is only there.
        device = points.device if len(enough) > MAX_CPU_OUTCOMES and known is None and not slopes else "cpu"
        some = points[enough].to(device), targets[enough].to(device)
        return Evidence(*some, self.kernel, split, free, self.mean is None, known, self.priors, slopes)

    def _free(self, observations: Observations) -> np.ndarray:
        """(d + 2,) which hyperparameters the data choose; noise that is known of all outcomes is not."""
        d, noise = observations.joint.shape[1], self.noise is None and not observations.all_known
        return np.array([self.lengthscales is None] * d + [self.outputscale == "fit", noise])

    def _held(self, start: Hyperparameters, observations: Observations, shift: float, scale: float) -> Hyperparameters:
        """`start` with the given hyperparameters, brought to standardised outcomes, in their places."""
        changed: dict[str, Any] = {}
        if self.lengthscales is not None:
            d = len(start.lengthscales)
            given: list[Any] = [self.lengthscales] * d if is_number(self.lengthscales) else list(self.lengthscales)  # type: ignore[arg-type]
            require(len(given) == d, "GP(lengthscales=...)", f"be {d} numbers, one per column", given)
            changed["lengthscales"] = tuple(float(number) for number in given)
        if self.outputscale is None:
            changed["outputscale"] = 1.0
        elif self.outputscale != "fit":
            changed["outputscale"] = self.outputscale / scale**2
        if self.noise is not None:
            changed["noise"] = max((self.noise / scale) ** 2, 1e-12) if self.noise else NO_NOISE
        elif observations.sds is not None and observations.all_known:  # that of outcomes to come
            changed["noise"] = max(float((observations.sds / scale).square().mean()), NO_NOISE)
        if self.mean is not None:
            changed["mean"] = (self.mean - shift) / scale
        held = replace(start, **changed)
        sound = all(math.isfinite(number) and number > 0 for number in (held.outputscale, held.noise))
        require(sound, "GP(outputscale=..., noise=...)", "be of the outcomes' order of magnitude", self)
        return held


def _some(count: int, limit: int) -> np.ndarray:
    """Which outcomes are looked at: all, or as many as are enough, drawn without a rhythm that data might have too."""
    if count <= limit:
        return np.arange(count)
    return np.sort(np.random.default_rng(count).permutation(count)[:limit])
