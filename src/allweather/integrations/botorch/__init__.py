"""Objectives and acquisitions for BoTorch's own loops."""

from allweather.integrations.botorch.acquisition import RobustAcquisition
from allweather.integrations.botorch.objective import RobustMCObjective

__all__ = ["RobustAcquisition", "RobustMCObjective"]
