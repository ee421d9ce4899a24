"""A sampler for Optuna."""

try:
    import optuna  # noqa: F401
except ModuleNotFoundError as missing:
    from allweather._utils.installation import install_command

    problem = f"Optuna is not installed: `{install_command('optuna')}`"
    raise ModuleNotFoundError(problem, name="optuna") from missing

from allweather.integrations.optuna.sampler import AllweatherSampler

__all__ = ["AllweatherSampler"]
