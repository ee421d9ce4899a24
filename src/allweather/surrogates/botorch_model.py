"""Any BoTorch model as a surrogate, through its own posterior: slower than the product form, same interface."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.models import ExactGP
from torch import Generator, Tensor

from allweather.errors import InvalidInput, require
from allweather.space import Space
from allweather.surrogates.base import ContextKernel, Field, Moments, Paths, Posterior, Surrogate
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.observations import Observations

if TYPE_CHECKING:
    from botorch.models.model import Model

MAX_BLOCK_POINTS = 2**14
"""Limit on the joint points in one call of the model."""


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
        """This recipe for the variables of a space, where the function cares which they are."""
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
        """BoTorch's own Matheron paths, with as many features as it sees fit."""
        with torch.random.fork_rng(devices=[]):  # BoTorch draws from the global generator
            torch.manual_seed(int(torch.randint(2**31 - 1, (), generator=generator)))
            try:
                from botorch.sampling.pathwise import draw_matheron_paths

                drawn: Any = draw_matheron_paths(self.botorch, torch.Size([count]))
            except (NotImplementedError, AttributeError) as trouble:
                name = type(self.botorch).__name__
                raise InvalidInput(f"`{name}` has no sample paths: use UCB, or a model BoTorch can draw") from trouble

        def values(decisions: Tensor) -> Tensor:
            points = joint(decisions, contexts)
            flat: Tensor = drawn(self.columns(points.reshape(-1, points.shape[-1]))).double()
            return flat.reshape(count, len(decisions), len(contexts))

        return values

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
            return found

        return between

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
        blocks = [self._moments(joint(block, self._contexts)) for block in decisions.split(rows)]
        return Moments(*(torch.cat(part) for part in zip(*blocks, strict=True)))

    def rough(self, chosen: Tensor) -> ModelField:
        """The model at these contexts only."""
        return ModelField(self._posterior, self._contexts[chosen])

    def slopes(self, decisions: Tensor) -> Moments:
        """By automatic differentiation of the model's posterior."""
        points = joint(decisions, self._contexts)
        points = points if points.requires_grad else points.requires_grad_()
        with torch.enable_grad():
            mean, sd = self._moments(points)
            d_c = self._contexts.shape[1]
            slopes = [torch.autograd.grad(part.sum(), points, create_graph=True)[0] for part in (mean, sd)]
        return Moments(*(slope[..., points.shape[-1] - d_c :] for slope in slopes))

    def _moments(self, points: Tensor) -> Moments:
        # One point per batch: the joint covariance of the contexts is not wanted.
        posterior: Any = self._posterior.botorch.posterior(self._posterior.columns(points[..., None, :]))
        shape = points.shape[:-1]
        mean, variance = (part.reshape(shape).double() for part in (posterior.mean, posterior.variance))
        return Moments(mean, variance.clamp_min(1e-20).sqrt())


def precision(model: Model) -> torch.dtype:
    """What a model computes in."""
    return next((each.dtype for each in model.parameters() if each.is_floating_point()), torch.float64)


def joint(decisions: Tensor, contexts: Tensor) -> Tensor:
    """Every decision (b, d_x) with every context (n, d_c): (b, n, d_x + d_c).

    Example:
        >>> joint(torch.zeros(2, 1), torch.ones(3, 2)).shape
        torch.Size([2, 3, 3])
    """
    b, n = len(decisions), len(contexts)
    return torch.cat([decisions[:, None].expand(b, n, -1), contexts.expand(b, n, -1)], -1)
