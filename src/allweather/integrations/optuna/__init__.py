"""A sampler for Optuna."""

try:
    import optuna  # noqa: F401
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError("Optuna is not installed: `pip install 'allweather[optuna]'`", name="optuna") from missing

from allweather.integrations.optuna.sampler import AllweatherSampler

__all__ = ["AllweatherSampler"]
