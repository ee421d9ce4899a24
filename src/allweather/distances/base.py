"""What a distance between context distributions is, and the question it answers: how bad can it get?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from allweather._utils.registry import Named
from allweather._utils.tensors import ROUNDING, as_tensor, crossing, with_gradient
from allweather.contexts import Reference, fitted
from allweather.errors import InvalidInput, require, require_number
from allweather.schedules import Custom, Progress, Schedule

Ceiling = Callable[[Tensor], Tensor]
WorstAt = tuple[Tensor, Tensor, Tensor]
Radius = float | Schedule | Callable[[int], float]

EXTREME_RANGE = 2.0**200
"""Rows with a larger range of values, or one below its inverse, are scaled: their squares would overflow."""
DEVICE_BLOCK_FACTOR = 16
"""Blocks are this many times larger on other devices than the CPU: they need not fit in its cache."""
MAX_CUTS = 60
"""Tangents of one search at most; ten are the rule, and where rounding limits it more do not help."""
GUESS_OFFSET = 0.03
"""Relative distance from a guess at which a search begins, on both sides."""


class Worst(NamedTuple):
    """The worst expectation within a radius, for a batch of decisions."""

    value: Tensor
    """(...,) v, the smallest expectation."""
    slope: Tensor
    """(...,) delta, its right derivative in the radius: never positive, -inf where v falls like a square root."""
    weights: Tensor
    """(..., n) the adversary's distribution, which attains v."""


@dataclass(frozen=True)
class Distance(Named, ABC):
    """A distance from the reference distribution, with a radius that the adversary may use up."""

    needs_points: ClassVar[bool] = False
    """Whether it asks where the contexts lie, not only how likely they are."""
    reaches_unlikely: ClassVar[bool] = True
    """Whether distributions within a radius may give probability to points that the reference gives none."""

    slow: ClassVar[bool] = False
    """Whether worst cases are no mere sort, so that many of them take long."""
    rowwise: ClassVar[bool] = False
    """Whether `_solve` takes a distribution per decision, weights (b, n), where no gradient is wanted."""
    block: ClassVar[int] = 2**16
    """Decisions are solved in blocks of about this many values, which stay in cache."""

    radius: Radius
    """How far the adversary may go: a number, or a schedule that `at` turns into one."""

    def __post_init__(self) -> None:
        if callable(self.radius) and not isinstance(self.radius, Schedule):
            object.__setattr__(self, "radius", Custom(self.radius))
        if not isinstance(self.radius, Schedule):
            require_number(self.radius, f"{type(self).__name__}(radius=...)", low=0)

    @property
    def rate(self) -> float:
        """The worst expectation falls like radius**rate near 0; `sensitivity` is the coefficient."""
        return 1.0

    @abstractmethod
    def between(self, weights: Tensor, reference: Reference) -> Tensor:
        """d(q, p): the distance (...,) of distributions `weights` (..., n) on the reference's points from it."""

    def to_points(self, reference: Reference) -> Tensor:
        """The distance (n,) of the point mass on each point: infinite where the adversary cannot go."""
        return self.between(
            torch.eye(len(reference.weights), dtype=torch.float64, device=reference.weights.device), reference
        )

    @abstractmethod
    def _solve(self, values: Tensor, reference: Reference, radius: Tensor) -> Worst:
        """The worst case of checked `values` (b, n) within `radius` (b,).

        Implementations search on `values.detach()`. The slope's gradient is theirs to attach; the value's is not,
        since by the envelope theorem it is the adversary's weights.
        """

    def worst_case(self, values: Tensor, reference: Reference, radius: Tensor | float | None = None) -> Worst:
        """The smallest expectation of `values` over all distributions within the radius of the reference.

        Args:
            values: (..., n) a function's values at the reference's points, one row per decision.
            reference: the points and their weights.
            radius: instead of the distance's own; a number or one per decision (...,).

        Example:
            >>> from allweather import Reference, TotalVariation
            >>> reference = Reference.checked([[0.0], [0.5], [1.0]], [0.5, 0.25, 0.25])
            >>> worst = TotalVariation(0.5).worst_case(torch.tensor([1.0, 2.0, 3.0]), reference)
            >>> worst.value.item(), worst.slope.item(), worst.weights.tolist()
            (1.25, -0.5, [0.75, 0.25, 0.0])
        """
        values, reference = fitted(values, reference, f"{type(self).__name__}.worst_case")
        leading, n = values.shape[:-1], values.shape[-1]
        flat = values.reshape(-1, n)
        rows = self._rows(n) * (1 if flat.device.type == "cpu" else DEVICE_BLOCK_FACTOR)
        radii = self._radius_for(leading, radius).to(flat.device)
        scale = _extreme_scale(flat.detach())
        scaled = flat if scale is None else flat / scale / scale
        blocks = zip(scaled.split(rows), radii.split(rows), strict=True)
        parts = zip(*(self._solve(v, reference, r) for v, r in blocks), strict=True)
        value, slope, weights = (part[0] if len(part) == 1 else torch.cat(part) for part in parts)
        if scale is not None:
            value, slope = (part * scale[:, 0] * scale[:, 0] for part in (value, slope))
        value = with_gradient(value, lambda: weights, flat)
        return Worst(value.reshape(leading), slope.reshape(leading), weights.reshape(values.shape))

    def worst_cases(self, values: Tensor, points: Tensor, laws: Tensor) -> Worst:
        """The worst cases of `values` (k, b, n), k functions of b decisions, each function under a law of its own.

        Args:
            values: (k, b, n), without gradient.
            points: (n, d) where the contexts lie.
            laws: (l, n) distributions; function i has law `i % l`.
        """
        count, b, n = values.shape
        if self.rowwise and len(laws) > 1:
            each = laws[torch.arange(count, device=laws.device) % len(laws)]
            rows, radius = max(1, self._rows(n) // b), values.new_full((b,), self.number)
            parts = [
                self._solve(v.reshape(-1, n), Reference(points, p.repeat_interleave(b, 0)), radius.repeat(len(v)))
                for v, p in zip(values.split(rows), each.split(rows), strict=True)
            ]
            value, slope, weights = (torch.cat(part) for part in zip(*parts, strict=True))
            return Worst(value.reshape(count, b), slope.reshape(count, b), weights.reshape(values.shape))
        found = Worst(values.new_empty(count, b), values.new_empty(count, b), torch.empty_like(values))
        for place, law in enumerate(laws):
            solved = self.worst_case(values[place :: len(laws)], Reference(points, law))
            for whole, part in zip(found, solved, strict=True):
                whole[place :: len(laws)] = part
        return found

    def worst_value(self, values: Tensor, reference: Reference) -> Tensor:
        """The value (...,) of `worst_case` at the distance's own radius."""
        return self.worst_case(values, reference).value

    def worst_values(self, values: Tensor, points: Tensor, laws: Tensor) -> Tensor:
        """The values (k, b) of `worst_cases`."""
        return self.worst_cases(values, points, laws).value

    def sensitivity(self, values: Tensor, reference: Reference) -> Tensor:
        """How fast v falls at radius 0, (...,): its right derivative there in radius**rate."""
        return self._sensitivity(*fitted(values, reference, f"{type(self).__name__}.sensitivity"))

    def _sensitivity(self, values: Tensor, reference: Reference) -> Tensor:
        if self.rate != 1:
            raise NotImplementedError(f"{type(self).__name__} falls like radius**{self.rate:g} and must say how fast")
        return self.worst_case(values, reference, radius=0.0).slope

    def first_order(self, values: Tensor, reference: Reference) -> Tensor:
        """The sensitivity as first-order methods take it: without asking whether weights could turn negative."""
        return self.sensitivity(values, reference)

    def fragility(self, values: Tensor, reference: Reference, target: float) -> Tensor:
        """The least loss per unit of distance that `target` allows for (bocu, Eq. 6 without its sign).

        It is the smallest k >= 0 (...,) with `v(radius) >= target - k radius` for every radius: 0 where even the worst
        point reaches the target, infinite where not even the mean does.
        """
        leading, n = values.shape[:-1], values.shape[-1]
        flat = values.reshape(-1, n)
        f = flat.detach()
        reach = self.to_points(reference)
        lowest, where = torch.where(torch.isfinite(reach), f, torch.inf).min(-1)
        # The best line through (0, target) touches v where v's own tangent starts at the target.
        if self.rate < 1:  # v is smooth and the line's slope stationary: half the digits of the radius are enough
            last = reach[where].clamp_min(1e-300)
            high = last.log()
            radius = crossing(lambda r: self._tangent(f, reference, target, r.exp()), high.clamp_max(0) - 60, high)
            radius = torch.where(self._tangent(f, reference, target, last) <= 0, last, radius.exp())  # by rounding
        else:  # v may have a kink there
            between = (target > lowest) & (target < f @ reference.weights)
            radius = reach[where].clamp_min(1e-300)
            if bool(between.any()):
                rows, mean = f[between], (f @ reference.weights)[between]
                radius[between] = touching(
                    lambda r: self.worst_case(rows, reference, r), mean, lowest[between], radius[between], target
                )
        worst = self.worst_case(f, reference, radius)
        loss = (target - worst.value) / radius
        if self.rate < 1:  # close to the mean the slope keeps digits that the difference loses
            near = f @ reference.weights - target < 1e-6 * (f.amax(-1) - lowest)
            loss = torch.where(near, -worst.slope, loss)
        loss = with_gradient(loss, lambda: -worst.weights / radius[:, None], flat)
        return self._fragility(flat, reference, target, lowest, loss).reshape(leading)

    def fragilities(self, values: Tensor, points: Tensor, laws: Tensor, target: float) -> Tensor:
        """The fragility (k, b) of k functions of b decisions, each under a law of its own, without gradient.

        Args:
            values: (k, b, n) at the contexts.
            points: (n, d) where the contexts lie.
            laws: (l, n) distributions; function i has law `i % l`.
            target: the value that is good enough.
        """
        found = values.new_empty(values.shape[:2])
        for place, law in enumerate(laws):
            found[place :: len(laws)] = self.fragility(values[place :: len(laws)], Reference(points, law), target)
        return found

    def _tangent(self, values: Tensor, reference: Reference, target: float, radius: Tensor) -> Tensor:
        """How far below the target (b,) the tangent of v at a radius starts."""
        worst = self.worst_case(values, reference, radius)
        return target - worst.value + radius * worst.slope

    def _fragility(
        self, values: Tensor, reference: Reference, target: float, lowest: Tensor, between: Tensor
    ) -> Tensor:
        """`between` for targets between the lowest value and the mean, and what holds at and beyond these."""
        mean = values @ reference.weights
        rounding = ROUNDING * (values.detach().amax(-1) - lowest + mean.detach().abs())
        at_mean = (target - mean).abs() <= rounding
        result = torch.where(target > mean, torch.inf, between)
        if bool(at_mean.any()):
            steepest = -self.sensitivity(values, reference) if self.rate == 1 else torch.full_like(mean, torch.inf)
            result = torch.where(at_mean, steepest, result)
        return torch.where(target <= lowest, 0.0, result)

    def ceiling(self, reference: Reference, alpha: float, beta: float, radius: float) -> Ceiling | None:
        """A function of values (..., n) that is never below `alpha v + beta delta`, if there is a much cheaper one."""
        return None

    def _rows(self, n: int) -> int:
        """How many decisions to solve at a time."""
        return max(1, self.block // n)

    @property
    def number(self) -> float:
        """The radius, once it is a number."""
        if isinstance(self.radius, Schedule):
            name = type(self).__name__
            where = f"{name}(radius={self.radius!r})"
            raise InvalidInput("changes with the step", where=where, remedy="take `.at(progress)` of it first")
        return float(self.radius)  # type: ignore[arg-type]

    def at(self, progress: Progress) -> Self:
        """This distance with the radius its schedule gives now.

        Example:
            >>> from allweather import KL, PowerLaw
            >>> KL(PowerLaw(1, 0.5)).at(Progress(step=4)).radius
            0.5
        """
        return replace(self, radius=self.radius(progress)) if isinstance(self.radius, Schedule) else self

    def _radius_for(self, leading: torch.Size, radius: Tensor | float | None) -> Tensor:
        name = type(self).__name__
        chosen = self.number if radius is None else radius
        tensor = as_tensor(chosen, f"{name}.worst_case(radius=...)").detach()
        require(bool((tensor >= 0).all()), f"{name}.worst_case(radius=...)", "be at least 0", tensor.min().item())
        fits = tensor.ndim <= len(leading) and all(
            size in (1, there) for size, there in zip(tensor.shape[::-1], leading[::-1], strict=False)
        )
        require(fits, f"{name}.worst_case(radius=...)", f"be one number or {tuple(leading)}", tuple(tensor.shape))
        return tensor.expand(leading).reshape(-1)


def _extreme_scale(values: Tensor) -> Tensor | None:  # (b, n)
    """The root (b, 1) of what to divide each row by, a power of two; None where no row's range is extreme."""
    low, high = values.aminmax(dim=-1, keepdim=True)
    half = high / 2 - low / 2
    extreme = (half > 0) & ((half > EXTREME_RANGE) | (half < 1 / EXTREME_RANGE))
    if not bool(extreme.any()):
        return None
    exponent = torch.frexp(half).exponent.to(values.dtype)
    return torch.where(extreme, (exponent / 2).floor(), 0.0).exp2()


def touching(
    worst_at: Callable[[Tensor], WorstAt],
    mean: Tensor,
    lowest: Tensor,
    reach: Tensor,
    target: float,
    guess: Tensor | None = None,
) -> Tensor:
    """The radius (b,) where the loss below the target per unit of radius is largest, by cutting planes.

    v is convex, so it lies above its tangents. The best radius is between one whose tangent starts above the target
    and one whose tangent starts below it, and no radius loses more than where the two tangents meet: that one is tried
    next, in turn with the one at which the tangent would start at the target if starts fell on a straight line.

    Args:
        worst_at: the value v, its slope and the weights of the worst case within radii (b,).
        mean: (b,) v at radius 0, above the target.
        lowest: (b,) v from `reach` on, below the target.
        reach: (b,).
        target: of the loss.
        guess: (b,) a radius next to the best one, on both sides of which the search begins.
    """
    ends, starts = (torch.zeros_like(reach), reach), (mean, lowest)  # of the tangents: where they touch, and at 0
    slopes = worst_at(torch.zeros_like(reach))[1], torch.zeros_like(lowest)
    best, most = reach.clone(), (target - lowest) / reach
    for cut in range(MAX_CUTS):
        radius = ((starts[0] - starts[1]) / (slopes[1] - slopes[0])).nan_to_num(nan=1.0).clamp(1e-300)
        radius = torch.minimum(radius, reach)
        limit = (target - starts[1]) / radius - slopes[1]
        if bool((limit - most <= 1e-12 * limit).all()):
            break
        if guess is not None and cut < 2:
            radius = torch.minimum(guess * (1 + GUESS_OFFSET if cut else 1 - GUESS_OFFSET), reach)
        elif cut % 2:  # where v is smooth a straight line through both starts is closer
            share = (starts[0] - target) / (starts[0] - starts[1])
            radius = torch.where(starts[1] < target, ends[0] + share * (ends[1] - ends[0]), radius)
        value, slope, _ = worst_at(radius)
        loss, start = (target - value) / radius, value - radius * slope
        best, most = torch.where(loss > most, radius, best), torch.maximum(loss, most)
        above = start > target
        new = radius, start, slope
        (ends, starts, slopes) = (
            (torch.where(above, fresh, old[0]), torch.where(above, old[1], fresh))
            for fresh, old in zip(new, (ends, starts, slopes), strict=True)
        )
    return best
