"""The geometry of a ball of distributions in a kernel's norm: `q >= 0, sum q = 1, (q - p)' K (q - p) <= radius^2`.

One kernel matrix serves all decisions. Where the support of the worst q is known, q has a closed form: `face`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from allweather._utils.linear_algebra import pivoted_cholesky
from allweather.errors import InvalidInput

Solver = Callable[..., list[Tensor]]
MAX_PAIR_ENTRIES = 2**23
"""Numbers that products of two columns of the basis may take; where there would be more they are not kept."""
GAP_TOLERANCE = 1e-9
"""Of the duality gap, relative to the range of a decision's values."""
MIN_ROWS_FOR_PAIRS = 8
"""Smaller batches read the products of pairs more slowly than they form them (`python -m benchmarks mmd_paths`)."""
FULL_SPECTRUM_CONTEXTS = 192
"""Contexts up to which all axes of the kernel matrix are computed."""


class Face(NamedTuple):
    """The part of the ball with a given support, seen from p: `q = p + offset - step * direction`."""

    offset: Tensor  # (b, n) leads from p to the nearest q with that support
    direction: Tensor  # (b, n) leads on from there, against the values
    room: Tensor  # (b, 1) squared radius left at the nearest q
    length: Tensor  # (b, 1) squared norm of the direction

    def edge(self, p: Tensor) -> tuple[Tensor, Tensor]:
        """The worst point of the face (b, n), negative entries and all, and its multiplier (b, 1)."""
        step = (self.room.clamp_min(0) / self.length.clamp_min(1e-30)).sqrt()
        return p + self.offset - step * self.direction, torch.where(self.length > 1e-30, 1 / step, 0.0)

    def worst(self, p: Tensor) -> tuple[Tensor, Tensor]:
        """The same as a distribution, with the multiplier (b, 1) of half the squared norm."""
        q, multiplier = self.edge(p)
        q = q.clamp_min(0)
        return q / total(q), multiplier


class KernelBall:
    """A kernel matrix, regularised and factorised once for all decisions."""

    tabled: ClassVar[bool] = True
    """Whether the whole matrix is kept."""

    def __init__(self, matrix: Tensor, jitter: float) -> None:
        self._matrix, self.floor = matrix, jitter
        self.gram = matrix + jitter * torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
        root, failed = torch.linalg.cholesky_ex(self.gram)
        if bool(failed):
            _ = self._axes  # which says what is wrong
            root = torch.linalg.cholesky(self.gram)
        self._cholesky = root
        self.diagonal, self.largest = self.gram.diagonal(), float(self.gram.amax())

    @cached_property
    def _axes(self) -> tuple[Tensor, Tensor]:
        """Eigenvalues (n,), the largest first, and eigenvectors (n, n); bounds that need no solver do without them."""
        matrix = self._matrix
        few = _few_axes(matrix)
        if few is not None:
            return few
        spectrum, vectors = torch.linalg.eigh(matrix)
        if spectrum[0].item() < -1e-8 * len(matrix) * matrix.abs().max().item():
            problem = f"must be positive semi-definite, got the eigenvalue {spectrum[0].item():.3g}"
            raise InvalidInput(problem, where="MMD(kernel=...)")
        return spectrum.clamp_min(0).flip(0), vectors.flip(1)

    @cached_property
    def inverse(self) -> Tensor:
        """(n, n) of the regularised matrix."""
        return torch.cholesky_inverse(self._cholesky)

    @cached_property
    def _ones(self) -> Tensor:
        """(n,) `K^-1 1`."""
        return torch.cholesky_solve(torch.ones_like(self.diagonal)[:, None], self._cholesky)[:, 0]

    @cached_property
    def rank(self) -> int:
        """How many eigenvalues are above the regularisation."""
        return max(1, int((self._axes[0] > self.floor).sum()))

    @cached_property
    def spectrum(self) -> Tensor:
        """(rank,) these eigenvalues."""
        return self._axes[0][: self.rank]

    @cached_property
    def basis(self) -> Tensor:
        """(n, rank) their eigenvectors, times the roots."""
        return self._axes[1][:, : self.rank] * self.spectrum.sqrt()

    @cached_property
    def _pairs(self) -> tuple[Tensor, Tensor]:
        """(n, rank (rank + 1) / 2) the products of two columns of the basis, and (rank, rank) where each pair is."""
        first, second = torch.tril_indices(self.rank, self.rank, device=self.basis.device)
        place = first.new_empty(self.rank, self.rank)
        place[first, second] = place[second, first] = torch.arange(len(first), device=first.device)
        return self.basis[:, first] * self.basis[:, second], place

    @cached_property
    def _root(self) -> Tensor | None:
        """All of the spectrum that is not rounding, for products with the matrix, where it is the shorter way."""
        spectrum, vectors = self._axes
        felt = int((spectrum > 1e-15 * spectrum[0]).sum())
        return vectors[:, :felt] * spectrum[:felt].sqrt() if 3 * felt < self.size else None

    @cached_property
    def well_conditioned(self) -> bool:
        """Whether the inverse is accurate enough for supports to be changed by it."""
        spectrum = self._axes[0]
        return self.rank == self.size and bool(spectrum[0] < 1e4 * spectrum[-1])

    @property
    def size(self) -> int:
        """How many contexts there are."""
        return len(self.diagonal)

    @cached_property
    def rough(self) -> KernelBall:
        """This ball in single precision: for the first steps of a solver, not for answers."""
        found = KernelBall.__new__(KernelBall)
        single = {name: getattr(self, name).float() for name in ("gram", "diagonal", "spectrum", "basis")}
        vars(found).update(single, floor=self.floor, rank=self.rank, _root=None)
        return found

    def between(self, index: Tensor) -> Tensor:
        """The regularised kernel matrices (b, m, m) of some contexts (b, m)."""
        return self.gram.take(index[:, :, None] * self.size + index[:, None, :])

    def product(self, x: Tensor) -> Tensor:
        """The products (..., n) of `x` (..., n) and the regularised kernel matrix, to the last digit."""
        return x @ self.gram

    def times(self, x: Tensor) -> Tensor:
        """The products (b, n) of `x` (b, n) and the regularised kernel matrix."""
        if self._root is None:
            return x @ self.gram
        return torch.addmm(x, x @ self._root, self._root.T, beta=self.floor)

    def factor(self, diagonal: Tensor) -> Solver:
        """A solver of `(K + diag) x = b` for a batch of diagonals (b, n), good enough for a Newton step.

        The part of the spectrum that the diagonal drowns is left out, which makes the rest a small system (Woodbury).
        """
        n = len(self.gram)
        r = max(1, int((self.spectrum > 3 * diagonal.amin(-1).median()).sum()))
        if 2 * r > n:
            dense = cholesky(self.gram + torch.diag_embed(diagonal))
            return lambda *b: list(torch.cholesky_solve(torch.stack(b, -1), dense).unbind(-1))
        basis, d = self.basis[:, :r], 1 / (diagonal + self.floor)
        if len(d) >= MIN_ROWS_FOR_PAIRS and n * self.rank**2 <= MAX_PAIR_ENTRIES:
            inner = (d @ self._pairs[0][:, : r * (r + 1) // 2])[:, self._pairs[1][:r, :r]]
        else:
            inner = (basis.T * d[:, None, :]) @ basis
        inner.diagonal(dim1=1, dim2=2).add_(1)
        small = cholesky(inner)

        def solve(*b: Tensor) -> list[Tensor]:
            reduced = torch.cholesky_solve(torch.stack([(d * v) @ basis for v in b], -1), small).unbind(-1)
            return [torch.addmm(v, x, basis.T, alpha=-1).mul_(d) for v, x in zip(b, reduced, strict=True)]

        return solve

    def to_points(self, p: Tensor) -> Tensor:
        """The distance (..., n) of each point mass from p (..., n)."""
        mean = self.product(p)
        return (self.diagonal - 2 * mean + total(p * mean)).clamp_min(0).sqrt()

    def project(self, values: Tensor) -> Tensor:
        """`A f` (b, n), with `A = K^-1 - K^-1 1 1' K^-1 / (1' K^-1 1)`: the way out of p that no empty point blocks."""
        few = self.size > 2 * FULL_SPECTRUM_CONTEXTS and 16 * len(values) <= self.size  # not worth an inverse
        free = torch.cholesky_solve(values.T, self._cholesky).T if few else values @ self.inverse
        ones = self._ones
        return free - total(free) * (ones / ones.sum())

    def face(
        self,
        support: Tensor,  # (b, n)
        values: Tensor,  # (b, n)
        p: Tensor,  # (b, n)
        radius: Tensor,  # (b, 1)
    ) -> Face:
        """The face of the ball with a given support per decision."""
        lost = p * ~support
        sides = torch.stack([values, self.times(lost), torch.ones_like(values)])
        direction, offset, ones = self._solve_on(support, sides)
        ones = ones / total(ones)
        direction = direction - ones * total(direction)
        offset = offset + ones * (total(lost) - total(offset)) - lost
        room = radius**2 - total(offset * self.times(offset))
        return Face(offset, direction, room, total(direction * self.times(direction)))

    def _solve_on(self, support: Tensor, sides: Tensor) -> Tensor:
        """The x (m, b, n), zero off the support, with `K x = side` on it.

        Where K is well conditioned its inverse is known, and the condition off a large support is the smaller system.
        """
        if not self.well_conditioned or 2 * int(support.sum(-1).amin()) < self.size:
            return _Blocks(self.gram, support).solve(sides)
        free = sides @ self.inverse
        return free - _Blocks(self.inverse, ~support).solve(free) @ self.inverse

    def duality_gap(self, q: Tensor, multiplier: Tensor, values: Tensor, p: Tensor, radius: Tensor) -> Tensor:
        """How far q can be from optimal (b, 1), beyond rounding, as the multiplier shows; infinite outside the ball."""
        difference = q - p
        pull = self.times(difference)
        reduced = values + multiplier * pull
        slack = (radius**2 - total(difference * pull)) / 2
        rounding = 4 * torch.finfo(q.dtype).eps * self.largest * multiplier * total(difference.abs())
        gap = total(q * (reduced - reduced.amin(-1, keepdim=True))) + multiplier * slack.abs() - rounding
        return gap.where(slack > -1e-8 * radius**2, torch.inf)


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
        """The x (m, b, n), zero off the mask, with `block x = side` on it."""
        index = self.index.expand(len(sides), -1, -1)
        inside = pad(sides, (0, 1)).gather(-1, index).masked_fill(index == sides.shape[-1], 0.0)
        solved = torch.cholesky_solve(inside.permute(1, 2, 0), self.factor).permute(2, 0, 1)
        return sides.new_zeros(*sides.shape[:-1], sides.shape[-1] + 1).scatter_(-1, index, solved)[..., :-1]


def _few_axes(matrix: Tensor) -> tuple[Tensor, Tensor] | None:
    """Eigenvalues (r,) and eigenvectors (n, r) of a matrix that has few, up to rounding; None of any other."""
    n, largest = len(matrix), float(matrix.diagonal().max())
    if n <= FULL_SPECTRUM_CONTEXTS or not largest > 0:
        return None
    root = columns(lambda place: matrix[place], matrix.diagonal(), 1e-15 * largest, n // 4)
    if root is None or bool(torch.addmm(matrix, root, root.T, alpha=-1).abs().max() > 1e-13 * largest):
        return None
    vectors, roots, _ = torch.linalg.svd(root, full_matrices=False)
    return roots.square(), vectors


def columns(column: Callable[[int], Tensor], diagonal: Tensor, tolerance: float, most: int) -> Tensor | None:
    """B (n, r) with `K - B B'` positive semi-definite and its diagonal at most `tolerance`.

    None where that takes more than `most` columns.
    """
    found = pivoted_cholesky(column, diagonal, most, tolerance)
    return found.rows.T.contiguous() if float(found.lacking.max()) <= tolerance else None


def total(a: Tensor) -> Tensor:
    """Sum over contexts, kept as a column."""
    return a.sum(-1, keepdim=True)


def cholesky(matrices: Tensor) -> Tensor:
    """Lower Cholesky factors (b, n, n), with a little on the diagonal of those that rounding has spoilt."""
    roots: Tensor
    roots, failed = torch.linalg.cholesky_ex(matrices)
    for power in range(-14, -3):
        if not bool(failed.any()):
            break
        size = 10.0**power * matrices.diagonal(dim1=-2, dim2=-1).amax(-1)
        lifted = matrices.clone()
        lifted.diagonal(dim1=-2, dim2=-1).add_(((failed > 0) * size)[..., None])
        roots, failed = torch.linalg.cholesky_ex(lifted)
    return roots
