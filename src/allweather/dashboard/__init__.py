"""Live web pages of studies with forms for ask and tell, and a REST API for programs."""

from __future__ import annotations

import warnings
from typing import Any

from allweather.dashboard.app import create_app
from allweather.dashboard.server import ServerConfig, serve

__all__ = ["ServerConfig", "create_app", "serve"]


def __getattr__(name: str) -> Any:
    if name == "Door":
        warnings.warn("`Door` is now `ServerConfig`; the old name will be removed", DeprecationWarning, stacklevel=2)
        return ServerConfig
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
