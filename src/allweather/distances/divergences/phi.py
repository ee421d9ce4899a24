"""Any f-divergence `sum p phi(q/p)`, from phi and its convex conjugate alone (phi, Thm. 1)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeVar

import torch
from torch import Tensor

from allweather._utils.tensors import ROUNDING, increasing_root, with_gradient
from allweather.contexts import Reference
from allweather.distances.base import Distance, Worst
from allweather.distances.divergences.f_divergence import (
    LARGEST_LOG_TILT,
    Function,
    deviation,
    lowest_on_support,
    require_conjugates,
    tilt_gradient,
)
from allweather.distances.divergences.phi_newton import Tilted, tilted
from allweather.errors import InvalidInput, is_number, require

Answer = TypeVar("Answer", bound=tuple[Tensor, ...])
DIFFERENCE_STEP = 1e-3
"""Relative step of the differences that replace a derivative that is NaN: their error is its fourth power."""
RADIUS_TOLERANCE = 1e-6
"""A worst case may lie this much, relatively, beyond the radius; below it, a thousand times as much."""


@dataclass(frozen=True)
class Phi(Distance):
    """The divergence `sum p phi(q/p)` of a convex phi with `phi(1) = 0`.

    Both functions work elementwise on tensors and are differentiated by autograd. Where phi grows only linearly
    (Hellinger, total variation) give its final slope as `recession`: then, and only then, the adversary may put mass
    on points of weight zero, at that price.

    Example:
        >>> from allweather import worst_case
        >>> kl = Phi(0.1, phi=lambda u: torch.special.xlogy(u, u) - u + 1, conjugate=torch.expm1)
        >>> round(worst_case([1.0, 2.0, 3.0], [0.5, 0.25, 0.25], kl).value, 4)
        1.3983
    """

    slow: ClassVar[bool] = True
    rowwise: ClassVar[bool] = True

    phi: Function
    """Convex on u >= 0, zero at 1."""
    conjugate: Function
    """`phi*(s) = max over u >= 0 of s u - phi(u)`."""
    recession: float = math.inf
    """The limit of `phi(u) / u`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("phi", "conjugate"):
            require(callable(getattr(self, name)), f"Phi({name}=...)", "be a function of a tensor", getattr(self, name))
        valid = is_number(self.recession) and self.recession > 0
        require(valid, "Phi(recession=...)", "be a positive number or math.inf", self.recession)
        require_conjugates(self.phi, self.conjugate, self.recession)

    def between(self, weights: Tensor, reference: Reference) -> Tensor:
        """The divergence."""
        p = reference.weights
        on = torch.where(p > 0, p * self.phi(torch.where(p > 0, weights / p, 1.0)), 0.0).sum(-1)
        off = torch.where(p > 0, 0.0, weights).sum(-1)
        return on + torch.where(off > 0, self.recession * off, 0.0)

    def _sensitivity(self, values: Tensor, reference: Reference) -> Tensor:
        """`-sqrt(2 variance / phi''(1))` for a smooth phi; the slope at radius 0 for one with a kink at 1."""
        if self.rate == 1:
            return super()._sensitivity(values, reference)
        return -math.sqrt(2 * self._bend()) * deviation(values, reference.weights)

    @property
    def rate(self) -> float:
        """1 where phi has a kink at 1, else 1/2."""
        return 0.5 if self._bend() > 0 else 1.0

    def _bend(self) -> float:
        """The conjugate's curvature where its slope is one, 1/phi''(1)."""
        return self._ratio(self._neutral())[2].item()

    def _neutral(self) -> Tensor:
        """The argument at which the conjugate has slope one: a subgradient of phi at 1."""
        one = torch.ones((), dtype=torch.float64, requires_grad=True)
        with torch.enable_grad():
            (slope,) = torch.autograd.grad(self.phi(one), one)
        return slope.detach() if bool(slope.isfinite()) else _differences(self.phi, one.detach())[0]

    def _ratio(self, s: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """phi(q/p), the ratio q/p, and its derivative, at `s`."""
        conjugate, ratio, curvature = self._derivatives(s)
        # Fenchel-Young holds with equality at the ratio
        phi = s.detach() * ratio - conjugate
        # A finite sum proves finite entries at a fraction of the cost.
        if not math.isfinite((phi.sum() + curvature.sum()).item()):
            broken = (ratio + curvature).isnan() | conjugate.isnan()
            if math.isfinite(self.recession):  # at its end a conjugate may be infinite, its derivative there anything
                broken = broken | (~torch.isfinite(conjugate) & torch.isfinite(ratio))
                s = torch.where(broken, s.clamp_max(self.recession * (1 - 4 * torch.finfo(s.dtype).eps)), s)
            if bool(broken.any()):
                found = zip((conjugate, ratio, curvature), self._repaired(s[broken]), strict=True)
                conjugate, ratio, curvature = (whole.masked_scatter(broken, part) for whole, part in found)
                phi = s.detach() * ratio - conjugate
        return phi, ratio, curvature

    def _derivatives(self, s: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The conjugate at `s` and its first two derivatives, by autograd."""
        with torch.enable_grad():
            s = s.detach().requires_grad_()
            conjugate = self.conjugate(s)
            (ratio,) = torch.autograd.grad(conjugate.sum(), s, create_graph=True)
            curvature = torch.autograd.grad(ratio.sum(), s)[0] if ratio.requires_grad else torch.zeros_like(s)
        return conjugate.detach(), ratio.detach(), curvature.detach()

    def _repaired(self, s: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As `_derivatives`, but where a branch that is not taken makes autograd NaN, by differences."""
        conjugate, ratio, curvature = self._derivatives(s)
        lost = (ratio + curvature).isnan()
        if not bool(lost.any()):
            return conjugate, ratio, curvature
        steep, bent = _differences(self.conjugate, s, self.recession)
        return conjugate, torch.where(lost, steep, ratio), torch.where(lost, bent, curvature)

    def fragility(self, values: Tensor, reference: Reference, target: float) -> Tensor:
        """From the dual: the least price of a unit of divergence at which no tilt stays below the target."""
        flat, p = values.reshape(-1, values.shape[-1]), reference.weights
        f = flat.detach()
        _, floor, height, scale = self._heights(f, p)
        lowest, aim = floor.squeeze(-1), (target - floor.squeeze(-1)) / scale.squeeze(-1)
        between = (target > lowest) & (target < f @ p)
        price, slope = torch.zeros_like(aim), torch.zeros_like(f)
        for rows in between.nonzero().flatten().split(self._rows(f.shape[-1])):
            tilt = _Tilt(self, height[rows] / scale[rows], p, aim[rows])
            price[rows], slope[rows] = tilt.price()
            if not math.isfinite((price[rows].sum() + slope[rows].sum()).item()):
                raise self._unsolved("has no finite fragility")
        price = with_gradient(price * scale.squeeze(-1), lambda: slope, flat)
        return self._fragility(flat, reference, target, lowest, price).reshape(values.shape[:-1])

    def _heights(self, f: Tensor, p: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Where mass may go (n,), the lowest value there (b, 1), values above it (b, n), and the largest of these."""
        reachable = (p > 0) | torch.full_like(p, math.isfinite(self.recession), dtype=torch.bool)
        floor = lowest_on_support(f, reachable.to(p.dtype))
        height = torch.where(reachable, f - floor, 0.0)
        return reachable, floor, height, height.amax(-1, keepdim=True)

    def _solve(self, values: Tensor, reference: Reference, radius: Tensor) -> Worst:
        f, p = values.detach(), reference.weights
        reachable, floor, height, scale = self._heights(f, p)
        collapsed, ceiling = self._collapsed(height, reference, reachable)
        exhausted = radius >= ceiling - ROUNDING
        untouched = (radius == 0) & ~exhausted & (self.rate < 1)

        weights = torch.where(exhausted[:, None], collapsed, p)
        slope = torch.where(untouched, -torch.inf, torch.zeros_like(radius))
        gradient = torch.zeros_like(f)
        tilted = ~(exhausted | untouched)
        if bool(tilted.any()):
            own = p[tilted] if p.ndim > 1 else p
            relative = height[tilted] / scale[tilted]
            found = _Tilt(self, relative, own, radius[tilted]).solve()
            self._check(found, relative, Reference(reference.points, own), radius[tilted])
            weights[tilted] = found.weights
            slope[tilted] = -scale[tilted].squeeze(-1) / found.theta
            gradient[tilted] = found.slope_gradient(slope[tilted], f[tilted])
        value = floor.squeeze(-1) + (weights * height).sum(-1)
        return Worst(value, with_gradient(slope, lambda: gradient, values), weights)

    def _check(self, found: _Found, height: Tensor, reference: Reference, radius: Tensor) -> None:
        """Refuse worst cases that are not at the radius, which a wrong derivative of the conjugate gives."""
        p = reference.weights
        if bool((p > 0).all()):  # as `between`, at a fraction of its cost
            spent = (p * self.phi(found.weights / p)).sum(-1)
        else:
            spent = self.between(found.weights, reference)
        if not math.isfinite((spent.sum() + found.theta.sum()).item()):
            raise self._unsolved("has no finite worst case")
        beyond = spent > radius * (1 + RADIUS_TOLERANCE) + 1e-9
        # Where the lowest value is as good as reached, rounding may leave some of the radius unused.
        short = (spent < radius * (1 - 1e3 * RADIUS_TOLERANCE) - 1e-9) & ((found.weights * height).sum(-1) > 1e-6)
        if bool((beyond | short).any()):
            at, limit = (each[beyond | short][0].item() for each in (spent, radius))
            raise self._unsolved(f"has its worst case at a divergence of {at:.4g} instead of the radius {limit:.4g}")

    def _unsolved(self, problem: str) -> InvalidInput:
        remedy = (
            "its derivative, by autograd, must be right wherever it is finite: clamp the argument of a branch that is "
            "not taken, as in `torch.where(s > -2, (s.clamp_min(-2) + 2) ** 1.5, 0.0)`"
        )
        return InvalidInput(problem, where=f"{type(self).__name__}(conjugate=...)", remedy=remedy)

    def _collapsed(self, height: Tensor, reference: Reference, reachable: Tensor) -> tuple[Tensor, Tensor]:
        """Everything on the smallest value: those weights (b, n), and their divergence (b,)."""
        p = reference.weights
        lowest = (height == 0) & reachable
        mass = (p * lowest).sum(-1, keepdim=True)
        first = torch.nn.functional.one_hot(lowest.to(torch.uint8).argmax(-1), p.shape[-1]).to(p.dtype)
        weights = torch.where(mass > 0, p * lowest / mass.clamp_min(1e-300), first)
        return weights, self.between(weights, reference)


def _differences(function: Function, s: Tensor, end: float = math.inf) -> tuple[Tensor, Tensor]:
    """First and second derivative of a function at `s` by central differences of fourth order, below `end`."""
    step = DIFFERENCE_STEP * s.abs().clamp_min(1.0)
    if math.isfinite(end):
        step = step.minimum(((end - s) / 8).clamp_min(1e-9))
    low, below, at, above, high = (function(s + k * step).detach() for k in (-2, -1, 0, 1, 2))
    slope = (low - 8 * below + 8 * above - high) / (12 * step)
    bend = (16 * (below + above) - low - high - 30 * at) / (12 * step.square())
    return slope, bend.clamp_min(0.0)


class _Found(NamedTuple):
    theta: Tensor  # (b,)
    weights: Tensor  # (b, n)
    curvature: Tensor  # (b, n)
    spilling: Tensor  # (b,) whether mass goes beyond what the ratios can hold, to the lowest point
    lowest: Tensor  # (b,)

    def slope_gradient(self, slope: Tensor, values: Tensor) -> Tensor:
        """As `tilt_gradient`, but where mass spills the tilt turns around the lowest value."""
        around_mean = tilt_gradient(slope, values, self.curvature)
        height = values - values.gather(-1, self.lowest[:, None])
        weighted = self.curvature * height
        spread = (weighted * height).sum(-1, keepdim=True)
        around_lowest = torch.where(spread > 0, slope[:, None] * weighted / spread, 0.0)
        around_lowest.scatter_add_(-1, self.lowest[:, None], -around_lowest.sum(-1, keepdim=True))
        return torch.where(self.spilling[:, None], around_lowest, around_mean)


class _Tilt:
    """Finds theta and c with `q/p = (phi*)'(c - theta height)`, mass one and divergence equal to the radius.

    For a price, `radius` is the value to reach.
    """

    def __init__(self, distance: Phi, height: Tensor, p: Tensor, radius: Tensor) -> None:
        self.distance, self.radius = distance, radius
        self.height, self.p = height, p
        self.neutral = distance._neutral()
        self._last: tuple[Tensor, Tensor, Tensor] | None = None
        """The last theta, its shift, and how fast the shift rises with theta there."""

    def solve(self) -> _Found:
        """Both unknowns together where that settles, and one inside the other elsewhere."""
        quick = self._together(priced=False)
        if quick is None:
            return self._solved()
        lowest, rest = self.height.argmin(-1), ~quick.settled
        found = _Found(quick.theta, quick.weights, quick.curvature, torch.zeros_like(rest), lowest)
        return self._filled(found, rest, lambda others: others._solved()) if bool(rest.any()) else found

    def _filled(self, found: Answer, rest: Tensor, solve: Callable[[_Tilt], tuple[Tensor, ...]]) -> Answer:
        """What was found, with the answers of another method for the rest of the rows."""
        others = _Tilt(self.distance, self.height[rest], self.p[rest] if self.p.ndim > 1 else self.p, self.radius[rest])
        for whole, part in zip(found, solve(others), strict=True):
            whole[rest] = part
        return found

    def _together(self, priced: bool) -> Tilted | None:
        """Newton's method in both unknowns; None where mass may spill or phi has a kink at 1."""
        bend = self.distance._bend()
        if math.isfinite(self.distance.recession) or not bend > 0:
            return None
        return tilted(self.distance._ratio, self.height, self.p, self.radius, self.neutral.item(), bend, priced)

    def _solved(self) -> _Found:
        low = torch.full_like(self.radius, -LARGEST_LOG_TILT)
        start = 0.5 * (2 * self.radius + 1e-12).log()
        below, above = increasing_root(self._excess, low, torch.full_like(low, LARGEST_LOG_TILT), start)
        divergence_below, _, weights_below, *_ = self._at(below.exp())
        divergence, curvature, weights, spilling, lowest = self._at(above.exp())
        # Where phi* has corners the divergence jumps at the root; a mixture of both sides is at the radius.
        jump = divergence - divergence_below
        share = torch.where(jump > 0, (self.radius - divergence_below) / jump, 1.0).clamp(0, 1)[:, None]
        return _Found(above.exp(), share * weights + (1 - share) * weights_below, curvature, spilling, lowest)

    def price(self) -> tuple[Tensor, Tensor]:
        """The k (b,) at which the least `E_q height + k divergence(q)` is `radius`, and its derivative in the heights.

        That least value is concave in k, with the divergence of its q as slope.
        """
        quick = self._together(priced=True)
        if quick is None:
            return self._searched_price()
        found = 1 / quick.theta, -quick.weights / quick.divergence[:, None].clamp_min(1e-300)
        rest = ~quick.settled
        return self._filled(found, rest, lambda others: others._searched_price()) if bool(rest.any()) else found

    def _searched_price(self) -> tuple[Tensor, Tensor]:
        def excess(log_theta: Tensor) -> tuple[Tensor, Tensor]:
            divergence, _, weights, *_ = self._at(log_theta.exp())
            paid = divergence / log_theta.exp()
            return self.radius - (weights * self.height).sum(-1) - paid, paid

        low = torch.full_like(self.radius, -LARGEST_LOG_TILT)
        _, log_theta = increasing_root(excess, low, -low, torch.zeros_like(low))
        divergence, _, weights, *_ = self._at(log_theta.exp())
        return (-log_theta).exp(), -weights / divergence[:, None].clamp_min(1e-300)

    def _excess(self, log_theta: Tensor) -> tuple[Tensor, Tensor]:
        theta = log_theta.exp()
        divergence, curvature, *_, spilling, _ = self._at(theta)
        mean = (curvature * self.height).sum(-1) / curvature.sum(-1).clamp_min(1e-300)
        around = torch.where(spilling, 0.0, mean)[:, None]
        spread = (curvature * (self.height - around).square()).sum(-1)
        divergence = divergence.clamp_min(torch.finfo(theta.dtype).tiny)
        # At radius 0 (only with a kink of phi at 1) the root is where the divergence leaves zero.
        radius = torch.where(self.radius > 0, self.radius * (1 + ROUNDING), 0.1 * ROUNDING)
        return divergence.log() - radius.log(), theta.square() * spread / divergence

    def _at(self, theta: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Divergence (b,), curvature (b, n), weights (b, n), spilling (b,) and lowest point (b,) at a tilt."""
        shift = self._shift(theta)
        phi, ratio, curvature = self.distance._ratio(self._arguments(shift, theta))
        weights = torch.where(self.p > 0, self.p * ratio, 0.0)
        lowest = self.height.argmin(-1)
        missing = 1 - weights.sum(-1)
        spilling = (shift >= self.distance.recession) & (missing > ROUNDING)
        spilled = torch.where(spilling, missing, 0.0)
        divergence = torch.where(self.p > 0, self.p * phi, 0.0).sum(-1)
        divergence = divergence + torch.where(spilling, self.distance.recession * spilled, 0.0)
        weights = weights.scatter_add(-1, lowest[:, None], spilled[:, None])
        curvature = torch.where(self.p > 0, self.p * curvature, 0.0)
        rise = (curvature * self.height).sum(-1) / curvature.sum(-1).clamp_min(1e-300)
        self._last = theta, shift, rise
        return divergence, curvature, weights / weights.sum(-1, keepdim=True), spilling, lowest

    def _shift(self, theta: Tensor) -> Tensor:
        """The c (b,) at which the ratios carry mass one, or the recession where they cannot."""

        def excess_mass(shift: Tensor) -> tuple[Tensor, Tensor]:
            _, ratio, curvature = self.distance._ratio(self._arguments(shift, theta))
            mass = torch.where(self.p > 0, self.p * ratio, 0.0).sum(-1)
            change = torch.where(self.p > 0, self.p * curvature, 0.0).sum(-1)
            return mass - 1, change

        limit = torch.full_like(theta, self.distance.recession)
        if math.isfinite(self.distance.recession):
            short = excess_mass(limit)[0] <= 0
            if bool(short.all()):
                return limit
        else:
            short = torch.zeros_like(theta, dtype=torch.bool)
        low = torch.full_like(theta, self.neutral.item())
        high = torch.minimum(self.neutral + theta, limit)
        start = torch.minimum(low + theta * (self.p * self.height).sum(-1), (low + high) / 2)
        if self._last is not None:
            before, shift, rise = self._last
            near = (shift + rise * (theta - before)).maximum(low).minimum(high)
            start = torch.where((theta - before).abs() < 0.5 * before, near, start)
        _, shift = increasing_root(excess_mass, low, high, start)
        return torch.where(short, limit, shift)

    def _arguments(self, shift: Tensor, theta: Tensor) -> Tensor:
        return shift[:, None] - theta[:, None] * self.height
