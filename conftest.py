"""Modules and pages about other tools are tested where the tool is installed."""

from importlib.util import find_spec

import pytest

TOOLS = {"ax": "Ax", "optuna": "Optuna"}
MISSING = [name for name in TOOLS if find_spec(name) is None]
THEIRS = {"ax": "ignore::DeprecationWarning", "botorch": "ignore:A not p.d."}
"""What the tools warn of on their own pages."""
collect_ignore = [f"src/allweather/integrations/{name}" for name in MISSING]


def pytest_collection_modifyitems(items):
    """A page about a tool that is missing is skipped, and says so."""
    for item in items:
        name = item.path.stem if item.path.suffix == ".md" else ""
        if name in MISSING:
            reason = f"{TOOLS[name]} is not installed: pip install 'allweather[{name}]'"
            item.add_marker(pytest.mark.skip(reason=reason))
        if name in THEIRS:
            item.add_marker(pytest.mark.filterwarnings(THEIRS[name]))
