"""Live web pages of studies with forms for ask and tell, and a REST API for programs."""

from allweather.dashboard.app import create_app
from allweather.dashboard.server import ServerConfig, serve

__all__ = ["ServerConfig", "create_app", "serve"]
