"""A ball of distributions in a kernel's norm: `q >= 0, sum q = 1, (q - p)' K (q - p) <= radius^2`.

Where the support of the worst q is known, q and its multiplier have a closed form. `worst` first tries the full
support; what is left goes to the interior point method, which finds supports and proves them right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from allweather.distances import interior_point
from allweather.errors import InvalidInput

Solver = Callable[..., list[Tensor]]


class Face(NamedTuple):
    """The part of the ball with a given support, seen from p: `q = p + offset - step * direction`."""

    offset: Tensor  # (b, n) leads from p to the nearest q with that support
    direction: Tensor  # (b, n) leads on from there, against the values
    room: Tensor  # (b, 1) squared radius left at the nearest q
    length: Tensor  # (b, 1) squared norm of the direction

    def worst(self, p: Tensor) -> tuple[Tensor, Tensor]:
        """Q (b, n), and the multiplier (b, 1) of half the squared norm."""
        step = (self.room.clamp_min(0) / self.length.clamp_min(1e-30)).sqrt()
        q = (p + self.offset - step * self.direction).clamp_min(0)
        return q / total(q), torch.where(self.length > 1e-30, 1 / step, 0.0)


class KernelBall:
    """A kernel matrix, regularised and factorised once for all decisions."""

    def __init__(self, matrix: Tensor, jitter: float) -> None:
        spectrum, vectors = torch.linalg.eigh(matrix)
        if spectrum[0].item() < -1e-8 * len(matrix) * matrix.abs().max().item():
            raise InvalidInput(
                f"`MMD(kernel=...)` must be positive semi-definite, got the eigenvalue {spectrum[0].item():.3g}"
            )
        self.gram = matrix + jitter * torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
        spectrum = spectrum.clamp_min(0).flip(0)
        self.floor = jitter
        self.rank = max(1, int((spectrum > jitter).sum()))
        self.spectrum = spectrum[: self.rank]
        self.basis = vectors.flip(1)[:, : self.rank] * self.spectrum.sqrt()
        self.well_conditioned = self.rank == len(matrix) and bool(spectrum[0] < 1e4 * spectrum[-1])
        self.inverse = torch.cholesky_inverse(torch.linalg.cholesky(self.gram))

    def factor(self, diagonal: Tensor) -> Solver:
        """A solver of `(K + diag) x = b` for a batch of diagonals (b, n), good enough for a Newton step.

        The part of the spectrum that the diagonal drowns is left out, which makes the rest a small system (Woodbury).
        """
        n = len(self.gram)
        r = max(1, int((self.spectrum > 3 * diagonal.amin(-1).median()).sum()))
        if 2 * r > n:
            dense = torch.linalg.cholesky(self.gram + torch.diag_embed(diagonal))
            return lambda *b: list(torch.cholesky_solve(torch.stack(b, -1), dense).unbind(-1))
        basis, d = self.basis[:, :r], 1 / (diagonal + self.floor)
        if n * r * r <= 2**24:
            inner = (d @ (basis[:, :, None] * basis[:, None, :]).reshape(n, r * r)).view(-1, r, r)
        else:
            inner = (basis.T * d[:, None, :]) @ basis
        inner.diagonal(dim1=1, dim2=2).add_(1)
        small = torch.linalg.cholesky(inner)

        def solve(*b: Tensor) -> list[Tensor]:
            reduced = torch.cholesky_solve(torch.stack([(d * v) @ basis for v in b], -1), small).unbind(-1)
            return [torch.addmm(v, x, basis.T, alpha=-1).mul_(d) for v, x in zip(b, reduced, strict=True)]

        return solve

    def worst(
        self,
        values: Tensor,  # (b, n)
        p: Tensor,  # (n,)
        radius: Tensor,  # (b,)
    ) -> tuple[Tensor, Tensor]:
        """The worst q (b, n) and the multiplier (b,) of its distance, which is minus the slope."""
        low, high = values.aminmax(dim=-1, keepdim=True)
        scale = (high - low).clamp_min(torch.finfo(values.dtype).tiny)
        height = (values - low) / scale
        if bool((radius == 0).any()):
            return self._worst_from_zero(height, p, radius, scale)
        q, multiplier = self._worst(height, p, radius[:, None])
        return q, self._of_distance(multiplier, radius, scale)

    def slope_gradient(self, values: Tensor, p: Tensor, radius: Tensor, q: Tensor, multiplier: Tensor) -> Tensor:
        """Derivative (b, n) of the slope in the values, on the support of the worst q."""
        gradient = torch.zeros_like(values)
        zero, sloping = (radius == 0).nonzero().squeeze(-1), ((radius > 0) & (multiplier > 0)).nonzero().squeeze(-1)
        if len(zero):
            gradient[zero] = self._direction_at_zero(values[zero], p)[1]
        if len(sloping):
            size = radius[sloping, None]
            # A point that holds less than this sits at a kink, or is rounding.
            face = self.face(q[sloping] > 1e-7, values[sloping], p, size)
            gradient[sloping] = -size * face.direction / (face.length * face.room).clamp_min(1e-300).sqrt()
        return gradient

    def face(
        self,
        support: Tensor,  # (b, n)
        values: Tensor,  # (b, n)
        p: Tensor,  # (n,)
        radius: Tensor,  # (b, 1)
    ) -> Face:
        """The face of the ball with a given support per decision."""
        lost = p * ~support
        sides = torch.stack([values, lost @ self.gram, torch.ones_like(values)])
        direction, offset, ones = self._solve_on(support, sides)
        ones = ones / total(ones)
        direction = direction - ones * total(direction)
        offset = offset + ones * (total(lost) - total(offset)) - lost
        room = radius**2 - total(offset * (offset @ self.gram))
        return Face(offset, direction, room, total(direction * (direction @ self.gram)))

    def _solve_on(self, support: Tensor, sides: Tensor) -> Tensor:
        """X (m, b, n), zero off the support, with `K x = side` on it.

        Where K is well conditioned its inverse is known, and the condition off the support is the smaller system.
        """
        if not self.well_conditioned:
            return _Blocks(self.gram, support).solve(sides)
        free = sides @ self.inverse
        return free - _Blocks(self.inverse, ~support).solve(free) @ self.inverse

    def duality_gap(self, q: Tensor, multiplier: Tensor, values: Tensor, p: Tensor, radius: Tensor) -> Tensor:
        """How far q can be from optimal (b, 1), beyond rounding, as the multiplier shows; infinite outside the ball."""
        difference = q - p
        pull = difference @ self.gram
        reduced = values + multiplier * pull
        slack = (radius**2 - total(difference * pull)) / 2
        rounding = 4 * torch.finfo(q.dtype).eps * self.gram.amax() * multiplier * total(difference.abs())
        gap = total(q * (reduced - reduced.amin(-1, keepdim=True))) + multiplier * slack.abs() - rounding
        return gap.where(slack > -1e-8 * radius**2, torch.inf)

    def _worst(self, height: Tensor, p: Tensor, radius: Tensor, from_zero: bool = False) -> tuple[Tensor, Tensor]:
        """As `worst`, of values between 0 and 1, with the multiplier (b, 1) of half the squared norm."""
        direction = self._project(height)
        length = total(height * direction).clamp_min(0)
        flat = length <= 1e-30
        step = radius / length.clamp_min(1e-30).sqrt()
        q = torch.where(flat, p, p - step * direction)
        multiplier = torch.where(flat, 0.0, 1 / step)
        inside = (q >= 0).all(-1)
        # Where the ball reaches a point mass on the lowest value nothing is left to lose.
        lowest = height.argmin(-1)
        exhausted = (self.to_points(p)[lowest][:, None] <= radius) & ~inside[:, None]
        q = torch.where(exhausted, torch.nn.functional.one_hot(lowest, len(p)).to(q.dtype), q)
        multiplier = torch.where(exhausted, 0.0, multiplier)
        inside = inside | exhausted.squeeze(-1)
        rest = (~inside).nonzero().squeeze(-1)
        if len(rest) and not from_zero and bool((radius[rest] < 1e-3 * p[p > 0].min()).any()):
            rest = self._tiny(rest, q, multiplier, height, p, radius)
        if len(rest) and self.well_conditioned:
            rest = self._active_sets(rest, q, multiplier, height, p, radius)
        if len(rest):
            q[rest], multiplier[rest] = interior_point.minimise(self, height[rest], p, radius[rest])
        return q, multiplier

    def _tiny(self, rows: Tensor, q: Tensor, multiplier: Tensor, height: Tensor, p: Tensor, radius: Tensor) -> Tensor:
        """Fill in the rows whose radius empties no point with mass: q leaves p along a straight line."""
        steepness, direction = self._direction_at_zero(height[rows], p)
        straight = p + radius[rows] * direction
        solved = (straight >= 0).all(-1)
        q[rows[solved]] = straight[solved]
        multiplier[rows[solved]] = (steepness[:, None] / radius[rows])[solved]
        return rows[~solved]

    def _active_sets(
        self, rows: Tensor, q: Tensor, multiplier: Tensor, height: Tensor, p: Tensor, radius: Tensor
    ) -> Tensor:
        """Fill in the rows that a few changes of the support solve, starting from where `q` is positive.

        Points leave the support where q is negative and enter where their multiplier is. On well conditioned kernels
        this settles within a few rounds; what does not is returned.
        """
        support = q[rows] > 0
        for _ in range(6):
            face = self.face(support, height[rows], p, radius[rows])
            step = (face.room.clamp_min(0) / face.length.clamp_min(1e-30)).sqrt()
            raw = p + face.offset - step * face.direction
            found, strength = face.worst(p)
            solved = (
                self.duality_gap(found, strength, height[rows], p, radius[rows]) < interior_point.TOLERANCE
            ).squeeze(-1)
            q[rows[solved]], multiplier[rows[solved]] = found[solved], strength[solved]
            if bool(solved.all()):
                return rows[:0]
            reduced = height[rows] + strength * ((raw - p) @ self.gram)
            level = total(reduced * support) / total(support)
            support = torch.where(support, raw > 0, reduced < level)[~solved]
            rows = rows[~solved]
        return rows

    def _of_distance(self, multiplier: Tensor, radius: Tensor, scale: Tensor) -> Tensor:
        """From the multiplier (b, 1) of half the squared norm, of unit values, to that of the distance (b,)."""
        steepness = multiplier.squeeze(-1) * radius
        return torch.where(steepness > 1e-9, steepness, 0.0) * scale.squeeze(-1)

    def to_points(self, p: Tensor) -> Tensor:
        """The distance (n,) of each point mass from p."""
        mean = self.gram @ p
        return (self.gram.diagonal() - 2 * mean + p @ mean).clamp_min(0).sqrt()

    def _project(self, values: Tensor) -> Tensor:
        """`A f` (b, n), with `A = K^-1 - K^-1 1 1' K^-1 / (1' K^-1 1)`."""
        free, ones = values @ self.inverse, self.inverse.sum(0)
        return free - total(free) * (ones / ones.sum())

    def _worst_from_zero(self, height: Tensor, p: Tensor, radius: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        """Rows of radius 0, which keep p, among others."""
        q, multiplier = p.expand_as(height).clone(), torch.zeros_like(radius)
        zero, positive = (radius == 0).nonzero().squeeze(-1), (radius > 0).nonzero().squeeze(-1)
        multiplier[zero] = self._direction_at_zero(height[zero], p)[0] * scale[zero].squeeze(-1)
        if len(positive):
            size = radius[positive, None]
            q[positive], found = self._worst(height[positive], p, size)
            multiplier[positive] = self._of_distance(found, radius[positive], scale[positive])
        return q, multiplier

    def _direction_at_zero(self, values: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
        """Minus the slope (b,) at radius 0, and the direction of unit norm in which q leaves p.

        Only points without mass constrain the direction, so p may be replaced by any distribution with its support,
        and the radius by any that empties no point of it.
        """
        spread = (p > 0).to(p.dtype) / (p > 0).sum()
        low, high = values.aminmax(dim=-1, keepdim=True)
        height = (values - low) / (high - low).clamp_min(torch.finfo(values.dtype).tiny)
        steepness, direction = torch.zeros_like(values[:, 0]), torch.zeros_like(values)
        left = (high > low).squeeze(-1).nonzero().squeeze(-1)
        for radius in (1e-2 / len(p), 1e-4 / len(p), 1e-6 / len(p)):
            if not len(left):
                break
            size = torch.full_like(low[left], radius)
            q, multiplier = self._worst(height[left], spread, size, from_zero=True)
            direction[left] = (q - spread) / radius
            steepness[left] = (multiplier * radius * (high - low)[left]).squeeze(-1)
            left = left[(q[:, p > 0] <= 0).any(-1)]
        return steepness, direction


class _Blocks:
    """The principal blocks of one matrix that a batch of masks picks out, padded to the size of the largest."""

    def __init__(self, matrix: Tensor, mask: Tensor) -> None:
        n = len(matrix)
        row, point = mask.nonzero(as_tuple=True)
        self.index = point.new_full((len(mask), int(mask.sum(-1).max())), n)  # n stands for "no point"
        self.index[row, mask.cumsum(-1)[row, point] - 1] = point
        blocks = pad(matrix, (0, 1, 0, 1)).take(self.index[:, :, None] * (n + 1) + self.index[:, None, :])
        blocks.diagonal(dim1=1, dim2=2).add_(self.index == n)
        self.factor = torch.linalg.cholesky(blocks)

    def solve(self, sides: Tensor) -> Tensor:
        """X (m, b, n), zero off the mask, with `block x = side` on it."""
        index = self.index.expand(len(sides), -1, -1)
        inside = pad(sides, (0, 1)).gather(-1, index).masked_fill(index == sides.shape[-1], 0.0)
        solved = torch.cholesky_solve(inside.permute(1, 2, 0), self.factor).permute(2, 0, 1)
        return sides.new_zeros(*sides.shape[:-1], sides.shape[-1] + 1).scatter_(-1, index, solved)[..., :-1]


def total(a: Tensor) -> Tensor:
    """Sum over contexts, kept as a column."""
    return a.sum(-1, keepdim=True)
