"""The command line: studies for people who do not write Python, and the papers' methods, problems and figures."""

from allweather.cli import (  # each adds its commands
    beginning,
    dashboard,
    exchange,
    loop,
    papers,
    picture,
    running,
    showing,
)
from allweather.cli.app import app

__all__ = ["app", "beginning", "dashboard", "exchange", "loop", "papers", "picture", "running", "showing"]
