"""The Wasserstein-1 (transport) distance, exact on the reference's points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from allweather._utils.tensors import pairwise
from allweather.contexts import Reference
from allweather.distances.base import Distance, Worst
from allweather.distances.transport.targets import BLOCK_ENTRIES, transport_over
from allweather.errors import AllweatherError, is_number, require


@dataclass(frozen=True)
class Wasserstein(Distance):
    """The least cost of moving the reference into q, where moving mass m from c to c' costs `m * ||c - c'||`.

    The adversary may move to any point of the reference, also to those of weight zero; give it some (`unseen`) to
    approximate a continuous context. The bound of wasserstein, Eq. 13 needs the function's gradient in the context, not
    its values at points, and is another method.

    Example:
        >>> from allweather import worst_case
        >>> worst_case([1.0, 2.0, 4.0], [0.0, 0.0, 1.0], Wasserstein(0.25), points=[0.0, 0.5, 1.0]).value
        3.0
    """

    needs_points: ClassVar[bool] = True
    slow: ClassVar[bool] = True
    rowwise: ClassVar[bool] = True

    norm: float = 2
    """Any p-norm of at least 1; `math.inf` for the largest difference."""

    def __post_init__(self) -> None:
        super().__post_init__()
        valid = is_number(self.norm) and self.norm >= 1
        require(valid, "Wasserstein(norm=...)", "be a number of at least 1 or math.inf", self.norm)

    def costs(self, reference: Reference) -> Tensor:
        """(n, n) what it costs to move a unit of mass between each two points."""
        return pairwise(reference.points, reference.points, float(self.norm))

    def between(self, weights: Tensor, reference: Reference) -> Tensor:
        """The transport distance, by linear programming over what must move."""
        costs = self.costs(reference).cpu().numpy()
        difference = (weights - reference.weights).detach()
        rows = difference.reshape(-1, difference.shape[-1]).cpu().numpy()
        found = torch.tensor([_transport(row, costs) for row in rows], dtype=torch.float64).to(weights.device)
        return found.reshape(weights.shape[:-1])

    def to_points(self, reference: Reference) -> Tensor:
        """The mean cost of moving everything to one point, block by block."""
        points, weights = reference
        rows = max(1, BLOCK_ENTRIES // len(points))
        blocks = zip(points.split(rows), weights.split(rows), strict=True)
        found = torch.zeros_like(weights)
        for sources, masses in blocks:
            found += masses @ pairwise(sources, points, float(self.norm))
        return found

    def fragility(self, values: Tensor, reference: Reference, target: float) -> Tensor:
        """From the dual: the least price k of a unit of transport at which no plan stays below the target."""
        flat = values.reshape(-1, values.shape[-1])
        lowest = flat.detach().amin(-1)
        price = transport_over(reference, float(self.norm)).price(flat, reference.weights, target)
        return self._fragility(flat, reference, target, lowest, price).reshape(values.shape[:-1])

    def _sensitivity(self, values: Tensor, reference: Reference) -> Tensor:
        """Minus the steepest slope of a line down from a point with mass."""
        flat = values.reshape(-1, values.shape[-1])
        steepest = transport_over(reference, float(self.norm)).steepest(flat)
        return super()._sensitivity(values, reference) if steepest is None else -steepest.reshape(values.shape[:-1])

    def _solve(self, values: Tensor, reference: Reference, radius: Tensor) -> Worst:
        return transport_over(reference, float(self.norm)).solve(values, reference.weights, radius)


def _transport(difference: np.ndarray, costs: np.ndarray) -> float:
    """Least cost of carrying the surplus of a signed measure (n,) to its deficit."""
    surplus, deficit = np.flatnonzero(difference > 1e-16), np.flatnonzero(difference < -1e-16)
    if not len(surplus) or not len(deficit):
        return 0.0
    supply, demand = difference[surplus], -difference[deficit]
    demand *= supply.sum() / demand.sum()
    rows, columns = len(surplus), len(deficit)
    leaving = np.kron(np.eye(rows), np.ones(columns))
    arriving = np.kron(np.ones(rows), np.eye(columns))
    # Mass is conserved, so the last column constraint follows from the others; including it is ill-conditioned.
    import scipy.optimize
    import scipy.sparse

    balance: Any = scipy.sparse.csr_array(np.vstack([leaving, arriving[:-1]]))
    amounts = np.concatenate([supply, demand[:-1]])
    size = amounts.max()
    solved = scipy.optimize.linprog(costs[np.ix_(surplus, deficit)].ravel(), A_eq=balance, b_eq=amounts / size)
    if solved.status != 0:
        raise AllweatherError(f"Wasserstein.between: the linear program failed: {solved.message}")
    return float(solved.fun * size)
