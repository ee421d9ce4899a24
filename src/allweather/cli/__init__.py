"""Command-line interface: studies without writing Python, and the published methods, problems and figures."""

from allweather.cli import (
    ask_tell,
    backup,
    change,
    check,
    dashboard,
    export,
    init,
    observe,
    papers,
    plot,
    policy,
    run,
    show,
)
from allweather.cli.app import app

__all__ = ["app"]

# Importing a module registers its commands.
_ = (ask_tell, backup, change, check, dashboard, export, init, observe, papers, plot, policy, run, show)
