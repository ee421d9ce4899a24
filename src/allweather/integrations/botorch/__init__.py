"""Objectives, acquisition functions and a model for BoTorch."""

from allweather.integrations.botorch.acquisition import RobustAcquisition
from allweather.integrations.botorch.input_noise import InputNoise
from allweather.integrations.botorch.joint_acquisition import RobustOutcomesAcquisition
from allweather.integrations.botorch.objective import RobustMCObjective, robust_outcomes

__all__ = [
    "InputNoise",
    "RobustAcquisition",
    "RobustMCObjective",
    "RobustOutcomesAcquisition",
    "robust_outcomes",
]
