"""The maximum mean discrepancy `sqrt((q - p)' K (q - p))` of a kernel over the contexts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from allweather._utils.tensors import ROUNDING, as_tensor, pairwise, with_gradient
from allweather.contexts import Reference
from allweather.distances.base import Ceiling, Distance, Worst, touching
from allweather.distances.mmd.ball import KernelBall
from allweather.distances.mmd.bounds import bracketed
from allweather.distances.mmd.kernels import KERNELS, Kernel, median_distance
from allweather.distances.mmd.low_rank import MAX_TABLED_CONTEXTS, LowRankBall
from allweather.distances.mmd.satisficing import largest_loss
from allweather.distances.mmd.worst_case import slope_gradient, worst_in_ball
from allweather.errors import InvalidInput, require, require_number
from allweather.schedules import Progress

SURROGATE = "surrogate"
"""The name of the surrogate's own kernel."""
MAX_KNOWN_KERNELS = 8
"""Factorised kernel matrices kept for the same points."""
JITTER = 1e-6
"""Added to the diagonal of every kernel matrix, once, and used everywhere: in the ball, the distance, the slope."""


@dataclass(frozen=True)
class MMD(Distance):
    """`d(q, p) = sqrt((q - p)' (K + 1e-6 I) (q - p))`, K the kernel matrix of the reference's points.

    The adversary may go to any point, also to those of weight zero. The regularisation is part of the distance: on
    fine grids most of K's eigenvalues are far below it, so results depend on it, and it is the same everywhere. The
    default lengthscale is the median distance of two distinct contexts drawn from the reference.

    Example:
        >>> from allweather import worst_case
        >>> worst = worst_case([1.0, 2.0, 3.0], [0.5, 0.25, 0.25], MMD(0.2, lengthscale=0.3), points=[0.0, 0.5, 1.0])
        >>> round(worst.value, 4)
        1.4666
    """

    needs_points: ClassVar[bool] = True
    slow: ClassVar[bool] = True
    rowwise: ClassVar[bool] = True

    lengthscale: float | None = None
    """Of the kernel; if not given, the median distance of two distinct contexts drawn from the reference."""
    kernel: str | Kernel = "rbf"
    """`"rbf"`, `"matern52"`, `"surrogate"` for the surrogate's fitted kernel between contexts, or any positive
    semi-definite `kernel(points, points) -> (n, n)` of its own scale."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lengthscale is not None:
            require_number(self.lengthscale, "MMD(lengthscale=...)", above=0)
        names = [*sorted(KERNELS), SURROGATE]
        known = callable(self.kernel) or (isinstance(self.kernel, str) and self.kernel in names)
        require(known, "MMD(kernel=...)", f"be one of {names} or a function", self.kernel)
        own = (callable(self.kernel) or self.kernel == SURROGATE) and self.lengthscale is not None
        require(not own, "MMD(lengthscale=...)", "be left out with a kernel of your own", self.lengthscale)

    def at(self, progress: Progress) -> Self:
        """This distance with the radius of its schedule, and the kernel that the surrogate has now.

        Args:
            progress: of the study, with the surrogate's kernel.

        Example:
            >>> now = Progress(step=4, context_kernel=lambda a, b: (-torch.cdist(a, b)).exp())
            >>> MMD(0.1, kernel="surrogate").at(now).kernel is now.context_kernel
            True
        """
        found = super().at(progress)
        if self.kernel != SURROGATE:
            return found
        if progress.context_kernel is None:
            raise _without_surrogate("a Gaussian process as surrogate, or a lengthscale")
        return replace(found, kernel=progress.context_kernel)

    def bound(self, reference: Reference) -> Self:
        """This distance with the lengthscale that the reference gives it, which another law then does not change.

        Args:
            reference: the points and their weights.

        Example:
            >>> half = Reference.checked([[0.0], [0.5]], [0.5, 0.5])
            >>> MMD(0.1).bound(half).lengthscale
            0.5
        """
        own = callable(self.kernel) or self.kernel == SURROGATE or self.lengthscale is not None
        return self if own else replace(self, lengthscale=self._scale(reference))

    def gram(self, reference: Reference) -> Tensor:
        """(n, n) the regularised kernel matrix K + 1e-6 I."""
        return self._ball(reference).gram

    def between(self, weights: Tensor, reference: Reference) -> Tensor:
        """The discrepancy."""
        difference = weights - reference.weights
        return (self._ball(reference).product(difference) * difference).sum(-1).clamp_min(0).sqrt()

    def to_points(self, reference: Reference) -> Tensor:
        """The discrepancy of each point mass."""
        return self._ball(reference).to_points(reference.weights)

    def first_order(self, values: Tensor, reference: Reference) -> Tensor:
        """`-sqrt(f'Af)`, the sensitivity where every point has mass (Tay et al. 2022), and a lower bound elsewhere."""
        flat = values.reshape(-1, values.shape[-1])
        f = flat.detach()
        projected = self._ball(reference).project(f)
        squared = (f * projected).sum(-1)
        length = squared.clamp_min(1e-300).sqrt()
        # Half the derivative of f'Af is Af, which is known.
        slope = torch.where(squared > 1e-300, 1 / length, 0.0)[:, None] * projected
        return -with_gradient(length, lambda: slope, flat).reshape(values.shape[:-1])

    def fragility(self, values: Tensor, reference: Reference, target: float) -> Tensor:
        """One quadratic program for each decision, in place of a search over radii."""
        flat, p = values.reshape(-1, values.shape[-1]), reference.weights
        f = flat.detach()
        lowest, mean = f.amin(-1), f @ p
        between = ((target > lowest) & (target < mean)).nonzero().squeeze(-1)
        loss, push = torch.zeros_like(mean), torch.zeros_like(f)
        for rows in between.split(self._rows(len(p))):
            loss[rows], push[rows] = self._losses(f[rows], reference, target)
        found = self._fragility(flat, reference, target, lowest, with_gradient(loss, lambda: -push, flat))
        return found.reshape(values.shape[:-1])

    def fragilities(self, values: Tensor, points: Tensor, laws: Tensor, target: float) -> Tensor:
        """All quadratic programs in one batch, but for those that another method must solve."""
        bound = callable(self.kernel) or self.lengthscale is not None  # otherwise every law has its own lengthscale
        if not bound or not values.numel():
            return super().fragilities(values, points, laws, target)
        count, b, n = values.shape
        f, p = values.reshape(-1, n), laws[torch.arange(count, device=laws.device) % len(laws)].repeat_interleave(b, 0)
        lowest, mean = f.amin(-1), (f * p).sum(-1)
        found = torch.where(target > mean, torch.inf, torch.zeros_like(mean))
        rounding = 2 * ROUNDING * (f.amax(-1) - lowest + mean.abs())
        alone = (target - mean).abs() <= rounding
        for rows in ((target > lowest) & (target < mean) & ~alone).nonzero().squeeze(-1).split(self._rows(n)):
            found[rows], _ = self._losses(f[rows], Reference(points, p[rows]), target)
        for row in alone.nonzero().squeeze(-1):
            found[row] = self.fragility(f[row], Reference(points, p[row]), target)
        return found.reshape(count, b)

    def _losses(self, f: Tensor, reference: Reference, target: float) -> tuple[Tensor, Tensor]:
        """The loss (b,) per unit of distance of values (b, n) under weights (n,) or (b, n), and minus its derivative.

        Where the quadratic program stays open, close to the mean, its last state is where a search over radii begins.
        """
        p, ball = reference.weights, self._ball(reference)
        loss, push, solved = largest_loss(ball, target - f, p)
        left = (~solved).nonzero().squeeze(-1)
        if len(left):
            values, around = f[left], Reference(reference.points, p if p.ndim == 1 else p[left])
            lowest, where = values.min(-1)
            reach = ball.to_points(around.weights).expand_as(values).gather(-1, where[:, None]).squeeze(-1)
            guess = (1 / push[left].sum(-1)).nan_to_num(nan=1.0).clamp_min(1e-12)
            mean = (values * around.weights).sum(-1)
            radius = touching(lambda r: self._solve(values, around, r), mean, lowest, reach, target, guess)
            worst = self._solve(values, around, radius)
            loss[left], push[left] = (target - worst.value) / radius, worst.weights / radius[:, None]
        return loss, push

    def ceiling(self, reference: Reference, alpha: float, beta: float, radius: float) -> Ceiling:
        """From what is known about v without solving for it."""
        ball, p = self._ball(reference), reference.weights

        def limit(values: Tensor) -> Tensor:
            flat = values.reshape(-1, values.shape[-1])
            lowest = flat.amin(-1, keepdim=True)  # a common offset does not matter, and costs digits
            limit = bracketed(ball, flat - lowest, p, radius).ceiling(alpha, beta) + alpha * lowest[:, 0]
            return limit.reshape(values.shape[:-1])

        return limit

    def _solve(self, values: Tensor, reference: Reference, radius: Tensor) -> Worst:
        ball = self._ball(reference)
        f = values.detach()
        weights, steepness = worst_in_ball(ball, f, reference.weights, radius)

        def gradient() -> Tensor:
            return slope_gradient(ball, f, reference.weights, radius, weights, -steepness)

        return Worst((weights * f).sum(-1), with_gradient(-steepness, gradient, values), weights)

    def _ball(self, reference: Reference) -> KernelBall:
        """The factorised kernel matrix, remembered for as long as the reference's points live."""
        points = reference.points
        known: dict[Any, tuple[Any, KernelBall]] = _BALLS.setdefault(points, {})
        place = torch.arange(len(points), dtype=points.dtype, device=points.device)
        by_weights = self.lengthscale is None and not callable(self.kernel)  # the lengthscale then depends on them
        drawn = (reference.weights @ place).item() if by_weights else 0.0
        key, stamp = (self.lengthscale, self.kernel), (points._version, points.sum().item(), drawn)
        if key not in known or known[key][0] != stamp:
            if len(known) >= MAX_KNOWN_KERNELS:  # a surrogate's kernel changes with every fit
                known.clear()
            known[key] = stamp, self._factorised(reference)
        return known[key][1]

    def _factorised(self, reference: Reference) -> KernelBall:
        points = reference.points
        if len(points) <= MAX_TABLED_CONTEXTS:
            return KernelBall(self._kernel_matrix(reference), JITTER)
        kernel = self._kernel(reference)

        def column(number: int) -> Tensor:
            return kernel(points, points[number : number + 1])[:, 0]

        own = [kernel(each, each).diagonal() for each in points.split(256)]
        return LowRankBall(column, torch.cat(own), JITTER)

    def _rows(self, n: int) -> int:
        """So many that a matrix for each of them, where there are any, fits in 256 MiB."""
        return max(1, min(2**18 // n, 2**25 // n**2 if n <= MAX_TABLED_CONTEXTS else 2**18))

    def _kernel_matrix(self, reference: Reference) -> Tensor:
        points = reference.points
        matrix = self._kernel(reference)(points, points)
        asymmetry = (matrix - matrix.T).abs().max().item()
        require(
            asymmetry <= 1e-8 * matrix.abs().max().item(),
            "MMD(kernel=...)",
            "be symmetric",
            f"off by {asymmetry:g}",
        )
        return (matrix + matrix.T) / 2

    def _kernel(self, reference: Reference) -> Kernel:
        """The kernel of any two sets of points, with its lengthscale."""
        if self.kernel == SURROGATE:
            raise _without_surrogate("a study, or `.at(progress)` with the surrogate's kernel")
        if isinstance(self.kernel, str):
            shape, scale = KERNELS[self.kernel], self._scale(reference)
            return lambda these, those: shape(pairwise(these, those) / scale)
        given = self.kernel

        def checked(these: Tensor, those: Tensor) -> Tensor:
            matrix, shape = as_tensor(given(these, those), "MMD(kernel=...)"), (len(these), len(those))
            require(matrix.shape == shape, "MMD(kernel=...)", f"return shape {shape}", tuple(matrix.shape))
            return matrix

        return checked

    def _scale(self, reference: Reference) -> float:
        if self.lengthscale is not None:
            return self.lengthscale
        return median_distance(reference)


def _without_surrogate(remedy: str) -> InvalidInput:
    return InvalidInput(
        "has no surrogate to take the kernel of", where='MMD(kernel="surrogate")', remedy=f"use {remedy}"
    )


_BALLS = WeakTensorKeyDictionary()
