"""The interface of context models, and the `Reference` that they return at each step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Generator, Tensor

from allweather._utils.cells import cells_of
from allweather._utils.registry import Named
from allweather._utils.tensors import as_tensor, as_weights
from allweather.errors import require
from allweather.space import Box, Space


class Reference(NamedTuple):
    """What the context model believes at this step: weighted points of the unit cube.

    Example:
        >>> Reference.checked([[0.2], [0.7]], [0.25, 0.75]).weights
        tensor([0.2500, 0.7500], dtype=torch.float64)
    """

    points: Tensor
    """(n, d_c), unit cube."""
    weights: Tensor
    """(n,), sums to 1; zeros mark where nature could go."""

    @classmethod
    def checked(cls, points: Any, weights: Any, where: str = "Reference") -> Reference:
        """A reference from anything array-like, with clear errors for what is not one."""
        points = as_tensor(points, f"{where}(points=...)")
        points = points.detach() if points.requires_grad else points
        require(points.ndim == 2, f"{where}(points=...)", "have shape (n, d_c)", tuple(points.shape))
        require(points.shape[0] > 0, f"{where}(points=...)", "have at least one point", tuple(points.shape))
        return cls(points, as_weights(weights, points.shape[0], f"{where}(weights=...)").detach())

    def to(self, device: torch.device | str) -> Reference:
        """The same belief on a device."""
        return self if self.weights.device == torch.device(device) else Reference(*(each.to(device) for each in self))

    def sampled(self, most: int) -> tuple[Tensor, Reference] | None:
        """A sample of the contexts: its indices (m,), and the belief about them; None where there are few anyway.

        Of those with weight about `most` are drawn, each as likely as it is heavy, and of those without as many. Fast,
        and good enough to tell decisions apart; means of smooth functions are more accurate with `grouped`.

        Args:
            most: how many contexts of each kind to keep.

        Example:
            >>> heavy = Reference.checked(torch.rand(99, 1), [0.51, *[0.005] * 98])
            >>> chosen, few = heavy.sampled(10)
            >>> len(chosen) < 10, round(few.weights[0].item(), 1)
            (True, 0.5)
        """
        likely, unlikely = (self.weights > 0).nonzero()[:, 0], (self.weights <= 0).nonzero()[:, 0]
        if max(len(likely), len(unlikely)) <= 2 * most:
            return None
        shuffle = np.random.default_rng(0)  # the same for the same number of contexts
        weights = self.weights[likely]
        if len(likely) > 2 * most:
            likely = likely[shuffle.permutation(len(likely))]
            places = (torch.arange(most, dtype=torch.float64).to(weights.device) + 0.5) / most
            drawn = torch.searchsorted(self.weights[likely].cumsum(0), places).clamp_max(len(likely) - 1)
            drawn, counts = drawn.unique(return_counts=True)
            likely, weights = likely[drawn], counts.to(self.weights.dtype) / most
        if len(unlikely) > 2 * most:
            unlikely = unlikely[shuffle.permutation(len(unlikely))[:most]]
        chosen, order = torch.cat([likely, unlikely]).sort()
        weights = torch.cat([weights, weights.new_zeros(len(unlikely))])[order]
        return chosen, Reference(self.points[chosen], weights / weights.sum())

    def grouped(self, most: int) -> tuple[Tensor, Reference] | None:
        """One context for each group of neighbours: indices (m,), and the belief about them; None where there are few.

        Contexts are halved again and again, along the widest side and into equal weights. Each cell is represented by
        the context next to its mean, with the weight of all.

        Args:
            most: how many contexts with weight to keep at most, and how many without.

        Example:
            >>> many = Reference.checked(torch.rand(999, 2), torch.full((999,), 1 / 999))
            >>> _, few = many.grouped(16)
            >>> len(few.points), bool((few.weights @ few.points - many.weights @ many.points).abs().max() < 0.05)
            (16, True)
        """
        points, weights = self.points.cpu().numpy(), self.weights.cpu().numpy()
        kinds = np.flatnonzero(weights > 0), np.flatnonzero(weights <= 0)
        if max(map(len, kinds)) <= 2 * most:
            return None
        chosen, shares = [], []
        for kind, mass in zip(kinds, (weights, np.ones_like(weights)), strict=True):
            alone = len(kind) <= 2 * most  # each by itself where they are few
            cells = kind.reshape(-1, 1) if alone else cells_of(points, mass, kind, most)
            chosen += [_middle(points[cell], mass[cell], cell) for cell in cells]
            shares += [weights[cell].sum() for cell in cells]
        places = torch.tensor(chosen, device=self.points.device)
        masses = torch.tensor(np.array(shares) / sum(shares), device=self.weights.device)
        return places, Reference(self.points[places], masses)


def _middle(points: np.ndarray, masses: np.ndarray, cell: np.ndarray) -> int:
    """The member of a cell that is next to its mean."""
    mean = masses @ points / masses.sum()
    return int(cell[((points - mean) ** 2).sum(-1).argmin()])


class ContextModel(Named, ABC):
    """Belief about the context: turns the contexts seen so far into a `Reference`."""

    @property
    def independent(self) -> bool:
        """Whether the variables are independent of each other: to know some says nothing about the others."""
        return False

    @abstractmethod
    def reference(self, contexts: Tensor, step: int, generator: Generator) -> Reference:
        """The belief at this step.

        Args:
            contexts: (t, d_c) contexts seen so far, oldest first, in the unit cube.
            step: how many observations there are.
            generator: the only source of randomness; one reference is drawn per step and then stays fixed.
        """

    def resample(self, contexts: Tensor, reference: Reference, count: int, generator: Generator) -> Tensor:
        """Draws (count, n) of the law, as weights of the reference's points; the same for all where it is known.

        Args:
            contexts: (t, d_c) contexts the reference was learned from, one row per independent occasion.
            reference: what `reference` returned, or some of its points with weights of their own.
            count: number of draws.
            generator: the source of randomness.

        Example:
            >>> from allweather import Empirical
            >>> past = torch.tensor([[0.2], [0.6], [0.7]], dtype=torch.float64)
            >>> reference = Empirical().reference(past, 3, torch.Generator())
            >>> drawn = Empirical().resample(past, reference, 500, torch.Generator().manual_seed(0))
            >>> drawn.shape, bool((drawn.mean(0) - reference.weights).abs().max() < 0.05)
            (torch.Size([500, 3]), True)
        """
        return reference.weights.expand(count, -1)

    def on(self, space: Space | Box) -> Self:
        """This model for the contexts of a space (or its `contexts` alone); laws in the user's units are translated."""
        return self._on(space.contexts if isinstance(space, Space) else space)

    def _on(self, box: Box) -> Self:
        return self

    def among(self, names: Sequence[str], everything: Sequence[str]) -> ContextModel:
        """This model for `names` only, where it speaks about `everything`: a model that is learned has no say."""
        return self


def sobol(n: int, d: int, generator: Generator) -> Tensor:
    """`n` scrambled Sobol points (n, d) strictly inside the unit cube, different for each state of the generator.

    Example:
        >>> sobol(4, 2, torch.Generator().manual_seed(0)).shape
        torch.Size([4, 2])
    """
    seed = int(torch.randint(2**31 - 1, (), generator=generator).item())
    engine = torch.quasirandom.SobolEngine(d, scramble=True, seed=seed)
    return engine.draw(n, dtype=torch.float64).clamp(1e-12, 1 - 1e-12)


def with_unseen(reference: Reference, unseen: int, generator: Generator) -> Reference:
    """The reference with `unseen` further points of weight zero, spread over the whole box.

    Adversaries in total variation, MMD and Wasserstein distance may move mass there; those in chi-squared and KL
    cannot.
    """
    if not unseen:
        return reference
    points, weights = reference
    elsewhere = sobol(unseen, points.shape[1], generator)
    return Reference(torch.cat([points, elsewhere]), torch.cat([weights, weights.new_zeros(unseen)]))


def seen(contexts: Any, model: ContextModel) -> Tensor:
    """Contexts (t, d_c) in the unit cube to learn a distribution from: at least one."""
    where = f"{type(model).__name__}.reference(contexts=...)"
    rows = as_tensor(contexts, where)
    require(rows.ndim == 2, where, "have shape (t, d_c)", tuple(rows.shape))
    require(rows.shape[0] > 0, where, "hold at least one context", tuple(rows.shape))
    inside = bool(((rows >= 0) & (rows <= 1)).all())
    hint = "lie in the unit cube (`space.contexts.encode` brings them there)"
    require(inside, where, hint, f"{rows.min().item():g} to {rows.max().item():g}")
    return rows


def in_order(contexts: Tensor) -> Tensor:
    """Contexts (t, d_c) in the order of their values, so that random numbers do not depend on when each was told."""
    return contexts[torch.from_numpy(np.lexsort(contexts.T.numpy()))]


def fitted(values: Any, reference: Reference, where: str) -> tuple[Tensor, Reference]:
    """Values (..., n) and a reference on n points, checked to belong together."""
    values = as_tensor(values, f"{where}(values=...)")
    require(isinstance(reference, Reference), f"{where}(reference=...)", "be a Reference(points, weights)", reference)
    points, weights = reference
    reference = Reference.checked(points, weights, f"{where}(reference=...)")
    n = reference.points.shape[0]
    requirement = f"have {n} as its last dimension, one value per point of the reference"
    require(values.ndim >= 1 and values.shape[-1] == n, f"{where}(values=...)", requirement, tuple(values.shape))
    return values, reference
