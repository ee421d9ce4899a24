"""A generator of the standard interface gest-api, for Xopt and others that drive such generators."""

try:
    import gest_api  # noqa: F401
except ModuleNotFoundError as missing:
    from allweather._utils.installation import install_command

    problem = f"gest-api is not installed: `{install_command('gest-api')}`"
    raise ModuleNotFoundError(problem, name="gest_api") from missing

from allweather.integrations.gest_api.generator import AllweatherGenerator

__all__ = ["AllweatherGenerator"]
