"""Steps of a primal-dual interior point method for a batch of convex programs: Mehrotra's, and plain ones.

Nocedal and Wright (2006), algorithm 16.4. A program has slacks and their multipliers, all positive, and solves its own
Newton system, which is factorised once for both directions of a step. Arrays may be torch's or NumPy's.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from torch import Tensor

Array = TypeVar("Array", Tensor, np.ndarray)


class Direction(Protocol):
    """A Newton direction."""

    @property
    def longest(self) -> Any:
        """The longest step (b, 1) that keeps slacks and multipliers positive."""


Move = TypeVar("Move", bound=Direction)


class Newton(Protocol[Array, Move]):
    """A factorised Newton system at an interior point."""

    gap: Array
    """(b, 1) The sum of the products of slacks and multipliers."""
    pairs: int
    """How many products there are."""

    def direction(self, centring: Array | None = None, guess: Move | None = None) -> Move:
        """The predictor; or the corrector to products of the size `centring` (b, 1), given the predictor."""

    def gap_after(self, direction: Move, size: Array) -> Array:
        """The gap (b, 1) after a step of this size (b, 1)."""


def predictor_corrector(newton: Newton[Array, Move], least: float, share: float) -> tuple[Move, Move, Array]:
    """The predictor, the corrector and the size (b, 1) of the step along the corrector.

    Args:
        newton: the system to solve.
        least: the smallest ratio of gaps that centring expects of a step.
        share: of the longest step that is taken.
    """
    guess = newton.direction()
    after = newton.gap_after(guess, guess.longest.clip(max=1))
    centring = (after / newton.gap).clip(least, 1) ** 3 * newton.gap / newton.pairs
    move = newton.direction(centring, guess)
    return guess, move, (share * move.longest).clip(max=1)


def path_following(newton: Newton[Array, Move], centring: float, share: float) -> tuple[Move, Move, Array]:
    """A step to a gap that is smaller by a factor, with its direction twice: there is no corrector.

    Args:
        newton: the system to solve.
        centring: the factor.
        share: of the longest step that is taken.
    """
    move = newton.direction(centring * newton.gap / newton.pairs)
    return move, move, (share * move.longest).clip(max=1)
