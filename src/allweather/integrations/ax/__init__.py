"""A generation node for Ax; importing it lets Ax save and load strategies that hold one."""

import warnings

try:
    with warnings.catch_warnings():  # Ax warns of its own imports
        warnings.simplefilter("ignore", DeprecationWarning)
        import ax.api.client  # noqa: F401
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError("Ax is not installed: `pip install 'allweather[ax]'`", name="ax") from missing

from allweather.integrations.ax.node import AllweatherNode

__all__ = ["AllweatherNode"]
