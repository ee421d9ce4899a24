"""Any BoTorch model as a surrogate, through its own posterior: slower than the product form, same interface."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.models import ExactGP
from gpytorch.utils.warnings import NumericalWarning
from torch import Generator, Tensor

from allweather._utils.linear_algebra import pivoted_cholesky
from allweather._utils.matern import Matern
from allweather.errors import InvalidInput, require
from allweather.space import Space
from allweather.surrogates.base import ContextKernel, Field, Moments, Paths, Posterior, Surrogate
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.observations import Observations
from allweather.surrogates.posteriors.step import Step

if TYPE_CHECKING:
    from botorch.models.model import Model

MAX_BLOCK_POINTS = 2**14
"""Limit on the joint points in one call of the model."""
MAX_BLOCK_COVARIANCES, MIN_BLOCK_POINTS = 2**20, 16
"""Limit on a quarter of the covariances in one call, and the joint points taken at least beside those of trials."""
MAX_SUMMED_POINTS, MIN_SUMMED_CONTEXTS = 2**11, 16
"""Above so many joint points in weighted sums, interpolate between contexts, but not between fewer than these."""
INTERPOLATION_TOLERANCE = 1e-10
"""Interpolate between no more contexts than leave this share of the prior variance."""
COVARIANCE_SAMPLES = 512
"""Samples that covariances are estimated from where a model's posterior has none."""


@dataclass(frozen=True, eq=False)
class BoTorch(Surrogate):
    """A surrogate from a function `(X, Y) -> fitted BoTorch model`, or from a model class, which is then fitted.

    X (t, d_x + d_c) are decisions and contexts in the unit cube, Y (t, 1) the outcomes, larger being better. Where
    standard errors were told, their squares (t, 1) are passed as `Yvar`, or `train_Yvar` as in BoTorch's own models.

    Example:
        >>> from botorch.models import SingleTaskGP
        >>> table = Observations.of([[0.0], [0.5], [1.0]], [[0.5]] * 3, [0.0, 1.0, 0.0])
        >>> BoTorch(SingleTaskGP).fit(table).field(table.contexts[:1])(table.decisions).mean.shape
        torch.Size([3, 1])
    """

    build: Callable[[Tensor, Tensor], Model]

    def __post_init__(self) -> None:
        from botorch.models.model import Model

        fits = callable(self.build) and not isinstance(self.build, Model)
        require(fits, "BoTorch(build=...)", "be a model class or a function (X, Y) -> fitted model", self.build)

    def on(self, space: Space) -> BoTorch:
        """This surrogate for the variables of a space, where the function cares which they are."""
        place = None if inspect.isclass(self.build) else getattr(self.build, "on", None)
        return self if place is None else BoTorch(place(space))

    def fit(self, observations: Observations, start: Hyperparameters | None = None) -> ModelPosterior:
        """The model of these observations."""
        if not len(observations):
            raise InvalidInput("`BoTorch.fit(observations=...)` must hold at least one outcome, got none")
        from botorch.models.model import Model

        noise = {} if observations.sds is None else self._noise(observations, observations.sds)
        model = self.build(observations.joint, observations.values[:, None], **noise)
        require(isinstance(model, Model), "BoTorch(build=...)(X, Y)", "return a BoTorch model", model)
        if inspect.isclass(self.build) and isinstance(model, ExactGP):
            from botorch.fit import fit_gpytorch_mll  # here, since it brings all of BoTorch's optimisers

            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return ModelPosterior.of(model.eval(), observations.decisions.shape[1])

    def _noise(self, observations: Observations, sds: Tensor) -> dict[str, Tensor]:
        """The variances of the outcomes' noise, by the name of the parameter that takes them."""
        taken = inspect.signature(self.build).parameters
        name = next((each for each in ("train_Yvar", "Yvar") if each in taken), None)
        if name is None:
            problem, remedy = "takes no standard errors", "make it a function of (X, Y, Yvar), or use `GP()`"
            raise InvalidInput(problem, where="BoTorch(build=...)", remedy=remedy)
        known = int((~sds.isnan()).sum())
        requirement, remedy = "have the standard error of every outcome, or of none", "use `GP()`, which takes both"
        require(observations.all_known, "BoTorch(build=...)", requirement, f"{known} of {len(sds)}", remedy)
        return {name: sds.square().clamp_min(1e-12)[:, None]}


@dataclass(frozen=True, eq=False)
class ModelPosterior(Posterior):
    """A BoTorch model's posterior; the model may compute in single precision, we do not."""

    botorch: Model
    split: int
    turned: tuple[int, ...] | None = None
    """Which of the model's columns each column is, where they were arranged."""

    @classmethod
    def of(cls, model: Model, split: int) -> ModelPosterior:
        """The posterior of a fitted model, or of the only one in a list."""
        alone: Any = getattr(model, "models", ())
        return cls(alone[0] if len(alone) == 1 else model, split)

    def field(self, contexts: Tensor) -> ModelField:
        """The model called on all joint points."""
        return ModelField(self, contexts)

    def columns(self, points: Tensor) -> Tensor:
        """Joint points (..., d) as the model takes them: its own columns, in its precision."""
        if self.turned is not None:
            points = points[..., torch.tensor(self.turned).argsort()]
        return points.to(precision(self.botorch))

    def arranged(self, order: Sequence[int], split: int) -> ModelPosterior:
        """The same model, called on points whose columns are put back in its order."""
        known = self.turned or range(len(order))
        return replace(self, split=split, turned=tuple(known[column] for column in order))

    @property
    def order(self) -> tuple[int, ...] | None:
        """Which of the model's columns each column is, where they were arranged."""
        return self.turned

    def paths(self, contexts: Tensor, count: int, generator: Generator, features: int = 1024) -> Paths:
        """BoTorch's own Matheron paths, with as many features as it sees fit; of an ensemble, its members."""
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
        with torch.random.fork_rng(devices=[]):  # BoTorch draws from the global generator
            torch.manual_seed(seed)
            drawn = self._members(count, seed) or self._matheron(count, contexts)

        def values(decisions: Tensor) -> Tensor:
            points = joint(decisions, contexts)
            flat = drawn(self.columns(points.reshape(-1, points.shape[-1]))).double()
            return flat.reshape(count, len(decisions), len(contexts))

        return values

    def _members(self, count: int, seed: int) -> Callable[[Tensor], Tensor] | None:
        """Members of an ensemble, drawn by their weights, as functions of points; None where the model is none."""
        from botorch.models.ensemble import EnsembleModel

        if not isinstance(self.botorch, EnsembleModel):
            return None
        return lambda points: _samples(self.botorch.posterior(points), count, seed)

    def _matheron(self, count: int, contexts: Tensor) -> Callable[[Tensor], Tensor]:
        """Paths as functions of points."""
        from botorch.sampling.pathwise import draw_matheron_paths

        with torch.no_grad():  # a variational model has cached a root in the shape of its last call
            self.botorch.posterior(self.columns(contexts.new_zeros(1, self.split + contexts.shape[1])))
        try:
            drawn: Callable[[Tensor], Tensor] = draw_matheron_paths(self.botorch, torch.Size([count]))
        except (NotImplementedError, AttributeError) as trouble:
            name = type(self.botorch).__name__
            raise InvalidInput(f"`{name}` has no sample paths: use UCB, or a model BoTorch can draw") from trouble
        return drawn

    @property
    def context_kernel(self) -> ContextKernel | None:
        """The model's covariance at the decision 0, as in the published code of kde, if it has one."""
        covariance: Any = getattr(self.botorch, "covar_module", None)
        if covariance is None:
            return None

        def between(a: Tensor, b: Tensor) -> Tensor:
            first, second = (
                self.columns(torch.cat([each.new_zeros(len(each), self.split), each], -1)) for each in (a, b)
            )
            with torch.no_grad():
                found: Tensor = covariance(first, second).to_dense().double()
            return found.flatten(0, -3).mean(0) if found.ndim > 2 else found  # of models that average over draws

        return between

    def moments(self, points: Tensor) -> Moments:
        """Mean and standard deviation (...) at joint points (..., d), each by itself."""
        # One point per batch: the joint covariance of the contexts is not wanted.
        mean, variance = _mean_and_variance(self.botorch.posterior(self.columns(points[..., None, :])))
        shape = points.shape[:-1]
        return Moments(mean.reshape(shape), variance.reshape(shape).clamp_min(1e-20).sqrt())

    def outcome_sd(self, points: Tensor) -> Tensor:
        """Standard deviations (...) of outcomes at joint points (..., d), noise included where the model has any."""
        noise: dict[str, Any] = {}
        if "observation_noise" in inspect.signature(self.botorch.posterior).parameters:
            noise["observation_noise"] = True
        _, variance = _mean_and_variance(self.botorch.posterior(self.columns(points[..., None, :]), **noise))
        return variance.reshape(points.shape[:-1]).clamp_min(1e-20).sqrt()

    def covariances(self, points: Tensor, trials: Tensor) -> Tensor:
        """Posterior covariances (b, s, m) of values at joint points (b, s, d) and (b, m, d), differentiable.

        The model gives the covariances of all points with each other. So points are taken in blocks as large as the
        trials are many, which wastes the least.
        """
        (b, s, d), m = points.shape, trials.shape[1]
        size = min(s, max(m, MIN_BLOCK_POINTS))
        missing = -s % size
        padded = torch.cat([points, points[:, :1].expand(b, missing, d)], 1).reshape(b, -1, size, d)
        together = torch.cat([padded, trials[:, None].expand(b, padded.shape[1], m, d)], 2).flatten(0, 1)
        found = _cross_covariance(self.botorch.posterior(self.columns(together)), size)
        return found.reshape(b, s + missing, m)[:, :s]

    def given(self, points: Tensor, values: Tensor | None = None) -> ModelPosterior:
        """The model conditioned on further outcomes, as noisy as those before where their noise is fixed."""
        model, points = self.botorch, self.columns(points)
        with torch.no_grad():
            predicted: Any = model.posterior(points)  # a model conditions only after it has predicted
            outcomes = predicted.mean if values is None else values[:, None].to(points)
            likelihood: Any = getattr(model, "likelihood", None)
            fixed = isinstance(likelihood, FixedNoiseGaussianLikelihood)
            noise = {"noise": likelihood.noise.mean().expand_as(outcomes)} if fixed else {}
            try:
                return replace(self, botorch=model.condition_on_observations(points, outcomes, **noise))
            except (NotImplementedError, AttributeError) as trouble:
                said = "cannot be told of pending or failed trials: ask for one at a time, or use an exact GP"
                raise InvalidInput(f"`{type(model).__name__}` {said}") from trouble


class ModelField(Field):
    """The fallback field: the model's posterior at each joint point."""

    def __init__(self, posterior: ModelPosterior, contexts: Tensor) -> None:
        self._posterior, self._contexts = posterior, contexts

    def __call__(self, decisions: Tensor) -> Moments:
        """Mean and standard deviation, a block of decisions at a time."""
        rows = max(1, MAX_BLOCK_POINTS // len(self._contexts))
        blocks = [self._posterior.moments(joint(block, self._contexts)) for block in decisions.split(rows)]
        return Moments(*(torch.cat(part) for part in zip(*blocks, strict=True)))

    def rough(self, chosen: Tensor) -> ModelField:
        """The model at these contexts only."""
        return ModelField(self._posterior, self._contexts[chosen])

    def step(self, compared: Tensor, weights: Tensor, contexts: Tensor) -> ModelStep:
        """By the model's joint posterior at the points of sums and of trials."""
        return ModelStep(self._posterior, self._contexts, contexts, compared, weights)

    def reaction(
        self,
        decisions: Tensor,  # (b, d_x)
        point: Tensor,  # (d,)
    ) -> Tensor:
        """How much the means (b, n) rise for every unit by which the outcome of a trial at a joint point surprises."""
        points = joint(decisions, self._contexts)
        found = self._posterior.covariances(points.flatten(0, 1)[None], point[None, None])
        return found.reshape(points.shape[:2]) / self._posterior.outcome_sd(point).square()

    def slopes(self, decisions: Tensor) -> Moments:
        """By automatic differentiation of the model's posterior."""
        points = joint(decisions, self._contexts)
        points = points if points.requires_grad else points.requires_grad_()
        with torch.enable_grad():
            mean, sd = self._posterior.moments(points)
            d_c = self._contexts.shape[1]
            slopes = [torch.autograd.grad(part.sum(), points, create_graph=True)[0] for part in (mean, sd)]
        return Moments(*(slope[..., points.shape[-1] - d_c :] for slope in slopes))


class ModelStep(Step):
    """That of any BoTorch model: covariances of its joint posterior, divided by the outcome's deviation.

    Slopes are exact for Gaussian processes and those of the best linear prediction for other models. Contexts without
    weight are left out; where the others are many, values at some are interpolated to all.
    """

    def __init__(
        self, posterior: ModelPosterior, summed: Tensor, coming: Tensor, compared: Tensor, weights: Tensor
    ) -> None:
        """Bind a posterior.

        Args:
            posterior: of the model.
            summed: (n, d_c) the contexts of the sums.
            coming: (m, d_c) the contexts of the coming trial.
            compared: (M, d_x) decisions.
            weights: (n,) of their sums, or (M, n).
        """
        self._posterior, self._summed, self._coming = posterior, summed, coming
        self._most = max(MIN_SUMMED_CONTEXTS, MAX_SUMMED_POINTS // len(compared))
        self._points, self._weights = self._sums(compared, weights)

    def __call__(self, decisions: Tensor) -> Tensor:
        """Slopes of the decisions compared."""
        sums, points, m = self._weights, self._points.flatten(0, 1), len(self._coming)
        rows = max(1, min(MAX_BLOCK_COVARIANCES // len(points), math.isqrt(MAX_BLOCK_COVARIANCES)) // m)
        blocks = []
        for block in decisions.split(rows):
            trials = joint(block, self._coming)  # (b, m, d)
            found = self._posterior.covariances(points[None], trials.flatten(0, 1)[None])[0]
            moved = torch.einsum("Mst,Ms->tM", found.reshape(*sums.shape, -1), sums)
            blocks.append(moved.reshape(len(block), m, -1) / self._posterior.outcome_sd(trials)[..., None])
        return torch.cat(blocks)

    def own(self, decisions: Tensor, weights: Tensor) -> Tensor:
        """Slopes of the decisions themselves."""
        points, weights = self._sums(decisions, weights)
        m = len(self._coming)
        rows = max(1, MAX_BLOCK_COVARIANCES // (max(weights.shape[1], m) * m))
        blocks = []
        for block, at, sums in zip(*(each.split(rows) for each in (decisions, points, weights)), strict=True):
            trials = joint(block, self._coming)
            moved = (self._posterior.covariances(at, trials) * sums[..., None]).sum(1)
            blocks.append(moved / self._posterior.outcome_sd(trials))
        return torch.cat(blocks)

    def _sums(self, decisions: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """The joint points (b, s, d) of weighted sums (n,) or (b, n), and their weights (b, s)."""
        weights = weights.detach().expand(len(decisions), -1)
        present = weights != 0
        kept = int(present.sum(-1).max())
        if kept == len(self._summed) <= self._most:
            return joint(decisions, self._summed), weights
        if kept <= self._most:
            places = present.double().topk(max(kept, 1), -1).indices
            weights = weights.gather(-1, places)
        else:
            chosen, spread = self._few
            places, weights = chosen.expand(len(decisions), -1), weights @ spread.mT
        contexts = self._summed[places]
        return torch.cat([decisions[:, None].expand(*places.shape, -1), contexts], -1), weights

    @cached_property
    def _few(self) -> tuple[Tensor, Tensor]:
        """Contexts (s,) that stand for all, and the map (s, n) from values there to all, by the context kernel."""
        contexts = self._summed
        kernel = self._posterior.context_kernel or _smooth
        variances = _variances(kernel, contexts)
        if float(variances.max()) <= 0:  # a linear kernel at the decision 0
            kernel, variances = _smooth, torch.ones_like(variances)
        rounding = 10 * torch.finfo(precision(self._posterior.botorch)).eps
        tolerance = max(INTERPOLATION_TOLERANCE, rounding) * float(variances.max())
        found = pivoted_cholesky(
            lambda place: kernel(contexts, contexts[place, None])[:, 0], variances, self._most, tolerance
        )
        return found.pivots, torch.linalg.solve_triangular(found.rows[:, found.pivots], found.rows, upper=True)


def precision(model: Model) -> torch.dtype:
    """What a model computes in."""
    return next((each.dtype for each in model.parameters() if each.is_floating_point()), torch.float64)


def _smooth(a: Tensor, b: Tensor) -> Tensor:
    """Correlations (n, m) of contexts (n, d_c) and (m, d_c) where the model has no kernel."""
    scale = 0.5 * a.shape[1] ** 0.5
    return Matern(2.5)(a / scale, b / scale)


def _variances(kernel: ContextKernel, contexts: Tensor) -> Tensor:
    """The diagonal (n,) of a kernel's matrix."""
    return torch.cat([kernel(block, block).diagonal() for block in contexts.split(64)])


def _mean_and_variance(posterior: Any) -> tuple[Tensor, Tensor]:
    """Mean and variance of a BoTorch posterior, those of the mixture where it is one."""
    from botorch.posteriors.fully_bayesian import GaussianMixturePosterior

    mixed = isinstance(posterior, GaussianMixturePosterior)
    parts = (posterior.mixture_mean, posterior.mixture_variance) if mixed else (posterior.mean, posterior.variance)
    return parts[0].double(), parts[1].double()


def _cross_covariance(posterior: Any, first: int) -> Tensor:
    """Covariances (..., s, m) of the first s points of a BoTorch posterior and the others, estimated if they must."""
    from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
    from botorch.posteriors.gpytorch import GPyTorchPosterior

    if isinstance(posterior, GPyTorchPosterior):
        mixed = isinstance(posterior, GaussianMixturePosterior)
        covariance: Any = posterior.mixture_covariance_matrix if mixed else posterior.distribution.covariance_matrix
        dense: Tensor = covariance if torch.is_tensor(covariance) else covariance.to_dense()
        return dense[..., :first, first:].double()
    samples = _samples(posterior, COVARIANCE_SAMPLES, 0)
    apart = samples - samples.mean(0)
    return torch.einsum("k...s,k...m->...sm", apart[..., :first], apart[..., first:]) / (COVARIANCE_SAMPLES - 1)


def _samples(posterior: Any, count: int, seed: int) -> Tensor:
    """Samples (count, ..., q) of a BoTorch posterior, from the same random numbers for every batch."""
    from botorch.sampling.get_sampler import get_sampler

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)  # equal points: their covariance has no Cholesky factor
        drawn: Tensor = get_sampler(posterior, torch.Size([count]), seed=seed)(posterior)
    return drawn[..., 0].double()


def joint(decisions: Tensor, contexts: Tensor) -> Tensor:
    """Every decision (b, d_x) with every context (n, d_c): (b, n, d_x + d_c).

    Example:
        >>> joint(torch.zeros(2, 1), torch.ones(3, 2)).shape
        torch.Size([2, 3, 3])
    """
    b, n = len(decisions), len(contexts)
    return torch.cat([decisions[:, None].expand(b, n, -1), contexts.expand(b, n, -1)], -1)
