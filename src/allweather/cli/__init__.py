"""The command line: studies for people who do not write Python, and the papers' methods, problems and figures."""

from allweather.cli import beginning, exchange, loop, papers, picture, running, showing  # each adds its commands
from allweather.cli.app import app

__all__ = ["app", "beginning", "exchange", "loop", "papers", "picture", "running", "showing"]
