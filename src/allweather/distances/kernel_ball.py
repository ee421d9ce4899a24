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
        products = (basis[:, :, None] * basis[:, None, :]).reshape(n, r * r)
        inner = torch.addmm(torch.eye(r, dtype=d.dtype, device=d.device).view(-1), d, products).view(-1, r, r)
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
        return q, (multiplier * radius[:, None] * scale).squeeze(-1)

    def slope_gradient(self, values: Tensor, p: Tensor, radius: Tensor, q: Tensor) -> Tensor:
        """Derivative (b, n) of the slope in the values, on the support of the worst q."""
        if bool((radius == 0).any()):
            _, direction = self._direction_at_zero(values, p)
            return direction
        face = self.face(q > 1e-12, values, p, radius[:, None])
        steepness = (face.length * face.room).clamp_min(1e-300).sqrt()
        _, multiplier = self.worst(values, p, radius)
        return torch.where(multiplier[:, None] > 0, -radius[:, None] * face.direction / steepness, 0.0)

    def face(
        self,
        support: Tensor,  # (b, n)
        values: Tensor,  # (b, n)
        p: Tensor,  # (n,)
        radius: Tensor,  # (b, 1)
    ) -> Face:
        """The face of the ball with a given support per decision."""
        b, n = values.shape
        row, point = support.nonzero(as_tuple=True)
        index = point.new_full((b, int(support.sum(-1).max())), n)  # n stands for "no point"
        index[row, support.cumsum(-1)[row, point] - 1] = point
        gram = pad(self.gram, (0, 1, 0, 1)).take(index[:, :, None] * (n + 1) + index[:, None, :])
        gram.diagonal(dim1=1, dim2=2).add_(index == n)
        lost = p * ~support
        sides = [
            pad(values, (0, 1)).gather(-1, index),
            pad(lost @ self.gram, (0, 1)).gather(-1, index),
            index < n,
        ]
        solved = torch.cholesky_solve(torch.stack([s.to(values.dtype) for s in sides], -1), torch.linalg.cholesky(gram))
        direction, offset, ones = solved.unbind(-1)
        ones = ones / total(ones)
        direction = direction - ones * total(direction)
        offset = offset + ones * (total(lost) - total(offset))
        empty = values.new_zeros(2, b, n + 1)
        direction, offset = empty.scatter_(-1, index.expand(2, b, -1), torch.stack([direction, offset]))[..., :n]
        offset = offset - lost
        room = radius**2 - total(offset * (offset @ self.gram))
        return Face(offset, direction, room, total(direction * (direction @ self.gram)))

    def duality_gap(self, q: Tensor, multiplier: Tensor, values: Tensor, p: Tensor, radius: Tensor) -> Tensor:
        """How far q can be from optimal (b, 1), beyond rounding, as the multiplier shows; infinite outside the ball."""
        difference = q - p
        pull = difference @ self.gram
        reduced = values + multiplier * pull
        slack = (radius**2 - total(difference * pull)) / 2
        rounding = 4 * torch.finfo(q.dtype).eps * self.gram.amax() * multiplier * total(difference.abs())
        gap = total(q * (reduced - reduced.amin(-1, keepdim=True))) + multiplier * slack.abs() - rounding
        return gap.where(slack > -1e-8 * radius**2, torch.inf)

    def _worst(self, height: Tensor, p: Tensor, radius: Tensor) -> tuple[Tensor, Tensor]:
        """As `worst`, of values between 0 and 1, with the multiplier (b, 1) of half the squared norm."""
        direction = self._project(height)
        length = total(height * direction).clamp_min(0)
        flat = length <= 1e-30
        step = radius / length.clamp_min(1e-30).sqrt()
        q = torch.where(flat, p, p - step * direction)
        multiplier = torch.where(flat, 0.0, 1 / step)
        inside = (q >= 0).all(-1)
        rest = (~inside).nonzero().squeeze(-1)
        if len(rest):
            q[rest], multiplier[rest] = interior_point.minimise(self, height[rest], p, radius[rest])
        return q, multiplier

    def _project(self, values: Tensor) -> Tensor:
        """`A f` (b, n), with `A = K^-1 - K^-1 1 1' K^-1 / (1' K^-1 1)`."""
        sides = torch.cat([values, torch.ones_like(values[:1])]).T
        solved = torch.cholesky_solve(sides, torch.linalg.cholesky(self.gram)).T
        ones = solved[-1:] / total(solved[-1:])
        return solved[:-1] - ones * total(solved[:-1])

    def _worst_from_zero(self, height: Tensor, p: Tensor, radius: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        """Rows of radius 0, which keep p, among others."""
        q, multiplier = p.expand_as(height).clone(), torch.zeros_like(radius)
        zero, positive = (radius == 0).nonzero().squeeze(-1), (radius > 0).nonzero().squeeze(-1)
        multiplier[zero] = self._direction_at_zero(height[zero], p)[0] * scale[zero].squeeze(-1)
        if len(positive):
            size = radius[positive, None]
            q[positive], found = self._worst(height[positive], p, size)
            multiplier[positive] = (found * size * scale[positive]).squeeze(-1)
        return q, multiplier

    def _direction_at_zero(self, values: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
        """Minus the slope (b,) at radius 0, and the direction of unit norm in which q leaves p.

        Only points without mass constrain the direction, so p may be replaced by any distribution with its support,
        and the radius by any that empties no point of it.
        """
        spread = (p > 0).to(p.dtype) / (p > 0).sum()
        steepness = torch.zeros_like(values[:, 0])
        direction = torch.zeros_like(values)
        left = (values.amax(-1) > values.amin(-1)).nonzero().squeeze(-1)
        radius = 1e-2 / len(p)
        while len(left):
            size = torch.full_like(steepness[left], radius)
            q, multiplier = self.worst(values[left], spread, size)
            direction[left] = (q - spread) / radius
            steepness[left] = multiplier
            left = left[(q[:, p > 0] <= 0).any(-1)] if radius > 1e-9 else left[:0]
            radius /= 100
        return steepness, direction


def total(a: Tensor) -> Tensor:
    """Sum over contexts, kept as a column."""
    return a.sum(-1, keepdim=True)
