"""Command-line interface: studies without writing Python, and the published methods, problems and figures."""

from allweather.cli import (
    ask,
    backup,
    change,
    check,
    dashboard,
    demo,
    export,
    init,
    papers,
    plot,
    recommend,
    run,
    show,
    tell,
    verify,
)
from allweather.cli.app import app

__all__ = ["app"]

# Importing a module registers its commands.
_ = (ask, backup, change, check, dashboard, demo, export, init, papers, plot, recommend, run, show, tell, verify)
