"""Modules and pages about other tools are tested where the tool is installed; `--fast` leaves out what takes long."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
TOOLS = {"ax": "Ax", "gest_api": "gest-api", "optuna": "Optuna"}
MISSING = [name for name in TOOLS if find_spec(name) is None]
THEIRS = {"ax": "ignore::DeprecationWarning", "botorch": "ignore:A not p.d."}
"""Warnings of the tools on the pages about them."""
SLOW = (
    "README.md",
    "docs",
    "src/allweather/benchmark",
    "src/allweather/cli",
    "src/allweather/dashboard",
    "src/allweather/integrations",
    "src/allweather/plots",
    "src/allweather/problems",
    "src/allweather/testing",
    "tests/acquisition/test_acquisition.py",
    "tests/acquisition/test_objective_ucb.py",
    "tests/benchmark",
    "tests/cli",
    "tests/contexts/test_learned.py",
    "tests/dashboard",
    "tests/distances/test_awkward.py",
    "tests/distances/test_mmd.py",
    "tests/distances/test_phi.py",
    "tests/distances/test_wasserstein.py",
    "tests/docs",
    "tests/engine/test_check.py",
    "tests/engine/test_choice.py",
    "tests/engine/test_controlled.py",
    "tests/engine/test_objective_draws.py",
    "tests/integrations",
    "tests/methods/control",
    "tests/methods/test_every_composition.py",
    "tests/methods/test_published.py",
    "tests/objectives/test_satisficing.py",
    "tests/plots",
    "tests/problems",
    "tests/storage/test_optimistic_writes.py",
    "tests/surrogates/test_fourier.py",
    "tests/surrogates/test_paths.py",
)
"""Places that `--fast` does not even import."""
collect_ignore = [f"src/allweather/integrations/{name}" for name in MISSING]


def pytest_addoption(parser):
    """Add `--fast`."""
    parser.addoption("--fast", action="store_true", help="leave out tests that are marked slow, and slow folders")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One worker more than there are processors: tests of pages and databases wait for other processes."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else None


def pytest_ignore_collect(collection_path, config):
    """With `--fast`, skip the slow folders before they are imported."""
    return True if config.getoption("--fast") and in_slow_place(collection_path) else None


def in_slow_place(path):
    """Whether `--fast` leaves out a path."""
    return any(path.is_relative_to(ROOT / place) for place in SLOW)


def pytest_collection_modifyitems(config, items):
    """Skip pages about a tool that is missing; with `--fast`, deselect tests that are marked slow."""
    for item in items:
        name = item.path.stem if item.path.suffix == ".md" else ""
        if name in MISSING:
            reason = f"{TOOLS[name]} is not installed: pip install 'allweather[{name}]'"
            item.add_marker(pytest.mark.skip(reason=reason))
        if name in THEIRS:
            item.add_marker(pytest.mark.filterwarnings(THEIRS[name]))
    if config.getoption("--fast"):
        slow = [item for item in items if item.get_closest_marker("slow") or in_slow_place(item.path)]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in set(slow)]


def pytest_terminal_summary(terminalreporter, config):
    """Name what `--fast` left out."""
    if config.getoption("--fast"):
        terminalreporter.write_line(f"left out: tests marked slow, {', '.join(SLOW)}; `make test` runs all")


@pytest.fixture(autouse=True)
def _few_past_recommendations(monkeypatch):
    """Draw progress with four past recommendations instead of twelve: each is a study of its own."""
    progress = sys.modules.get("allweather.plots.progress")  # imported with the documentation that is tested
    if progress is not None:
        monkeypatch.setattr(progress, "MAX_PAST_RECOMMENDATIONS", 4)
