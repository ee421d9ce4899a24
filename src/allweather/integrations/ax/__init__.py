"""A generation node for Ax; importing this package registers it with Ax's JSON storage."""

import warnings

try:
    with warnings.catch_warnings():  # deprecations in Ax's own imports
        warnings.simplefilter("ignore", DeprecationWarning)
        import ax.api.client  # noqa: F401
except ModuleNotFoundError as missing:
    from allweather._utils.installation import install_command

    problem = f"Ax is not installed: `{install_command('ax')}`"
    raise ModuleNotFoundError(problem, name="ax") from missing

from allweather.integrations.ax.node import AllweatherNode

__all__ = ["AllweatherNode"]
