"""The sampler of the package `allweather`, under the name by which OptunaHub loads it."""

from __future__ import annotations

from allweather.integrations.optuna import AllweatherSampler

__all__ = ["AllweatherSampler"]
