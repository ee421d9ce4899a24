"""A context model given the values of some of its variables."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from allweather.contexts.base import ContextModel, Reference
from allweather.contexts.learned import EQUAL_TOLERANCE, LearnedModel, dirichlet, reweighted
from allweather.errors import require
from allweather.space import Box, Context, Real


@dataclass(frozen=True, eq=False)
class Conditional(ContextModel):
    """The law of the other variables, given what is known; every point has the known values.

    * Learned laws (`KDE`, `Empirical`, `Drifting`, `Discretised`): every context seen counts by its component's density
      at the known values: contexts with the same option or integer, and in real columns those nearby. A value that was
      never seen says nothing: then the law is as if nothing were known.
    * Laws with independent variables (`Known` with a law for each, `Uniform`, `MeanBox`, `Independent`): the others
      keep their law.
    * All others (`Finite`, a joint sampler): the points with these values, or the nearby ones in real columns.

    Example:
        >>> from allweather import Finite
        >>> both = Finite([[0.0, 0.2], [1.0, 0.4], [1.0, 0.6]])
        >>> given = Conditional(both, torch.tensor([1.0, torch.nan]), torch.tensor([False, True]))
        >>> given.reference(torch.empty(0, 2), 1, torch.Generator()).weights.tolist()
        [0.0, 0.5, 0.5]
    """

    model: ContextModel
    known: Tensor
    """(d_c,) the known columns of the unit cube, NaN where not known."""
    smooth: Tensor
    """(d_c,) which columns are those of real variables."""

    def reference(self, contexts: Tensor, step: int, generator: Generator) -> Reference:
        """The reference of the model with the known values in all points, and weights given these."""
        points, weights = self.model.reference(contexts, step, generator)
        given, filled = self.known.isfinite(), self.filled(points)
        if self.model.independent:
            return Reference(filled, weights)
        if isinstance(self.model, LearnedModel):
            match, rest = self._components(contexts, points)
            base = self.model.component_weights(self.model.rows(contexts))
            return Reference(filled, reweighted(Reference(filled, weights), rest, base, _normed(base * match)[None])[0])
        closeness = self._closeness(points, weights)
        total = float((weights * closeness).sum())
        said = "have a point with the known values, or be asked without them"
        require(total > 0, f"{type(self.model).__name__}(points=...)", said, self.known[given].tolist())
        return Reference(filled, weights * closeness / total)

    def filled(self, points: Tensor) -> Tensor:
        """Points (n, d_c) with the known values in place of their own."""
        return torch.where(self.known.isfinite(), self.known, points)

    def resample(self, contexts: Tensor, reference: Reference, count: int, generator: Generator) -> Tensor:
        """Draws of a learned law, each given the known values."""
        model = self.model
        if not isinstance(model, LearnedModel) or not model.bootstrap:
            return model.resample(contexts, reference, count, generator)
        contexts = model.rows(contexts)
        match, rest = self._components(contexts, reference.points)
        base = model.component_weights(contexts)
        drawn = dirichlet(base, count, generator) * match
        return reweighted(reference, rest, _normed(base * match), _normed(drawn))

    def _components(self, contexts: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
        """How well each context (t,) matches what is known, and log densities (t, n) of the other columns."""
        assert isinstance(self.model, LearnedModel)
        contexts, given = self.model.rows(contexts), self.known.isfinite()
        at = torch.where(given, self.known, 0.0)[None]
        log_match = self.model.log_marginal(contexts, at, given, self.smooth)[:, 0]
        match = (log_match - log_match.max()).exp() if bool(log_match.isfinite().any()) else torch.ones(len(contexts))
        return match.to(torch.float64), self.model.log_marginal(contexts, points, ~given, self.smooth, exact=True)

    def _closeness(self, points: Tensor, weights: Tensor) -> Tensor:
        """(n,) 1 at points with the known values, less at points nearby in real columns."""
        given = self.known.isfinite()
        apart = (points - torch.where(given, self.known, 0.0))[:, given]
        smooth = self.smooth[given]
        same = (apart[:, ~smooth].abs() <= EQUAL_TOLERANCE).all(-1)
        exact = same & (apart.abs() <= EQUAL_TOLERANCE).all(-1)
        if bool((weights[exact] > 0).any()):
            return exact.to(torch.float64)
        real = points[:, given][:, smooth]
        mean = (weights[:, None] * real).sum(0)
        spread = (weights[:, None] * (real - mean).square()).sum(0).sqrt().clamp_min(EQUAL_TOLERANCE)
        width = spread * float(weights.square().sum()) ** 0.2  # as wide as for so many draws
        near: Tensor = (-0.5 * (apart[:, smooth] / width).square().sum(-1)).exp()
        return same * near


def real_columns(box: Box) -> Tensor:
    """(d_c,) which columns are those of real variables."""
    kinds = [variable.variable if isinstance(variable, Context) else variable for variable in box.values()]
    return torch.tensor([isinstance(kind, Real) for kind in kinds for _ in range(kind.columns)], dtype=torch.bool)


def _normed(weights: Tensor) -> Tensor:
    return weights / weights.sum(-1, keepdim=True).clamp_min(1e-300)
