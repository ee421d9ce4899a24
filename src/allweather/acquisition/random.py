"""Decisions at random: what every method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from allweather.acquisition.base import Acquisition, Belief, Score

if TYPE_CHECKING:
    from allweather.acquisition.joint import JointBelief


@dataclass(frozen=True)
class Random(Acquisition):
    """Every decision is as good as any other."""

    def build(self, belief: Belief) -> Score:
        """Independent uniform scores, flat around each decision."""

        def score(decisions: Tensor) -> Tensor:
            luck = torch.rand(len(decisions), generator=belief.generator, dtype=torch.float64).to(decisions.device)
            return luck + 0 * decisions.sum(-1)

        return score

    def joint(self, belief: JointBelief) -> Score:
        """The same, whatever the outcomes are."""
        return self.build(belief.main)
