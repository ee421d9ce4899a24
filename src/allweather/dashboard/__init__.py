"""The live page: studies that people look at, ask and tell in a browser, and a REST interface for programs."""

from allweather.dashboard.app import create_app
from allweather.dashboard.door import Door
from allweather.dashboard.serving import serve

__all__ = ["Door", "create_app", "serve"]
