"""Figures and tables of wasserstein."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.claims import Beats, Faster, Least
from allweather.benchmark.figures import Figure, Settings, plain
from allweather.problems import problem
from allweather.surrogates import GP

SEEDS = range(15)


def _wide(*names: str) -> Settings:
    """Return problems with a context standard deviation of 0.2, as everywhere in the paper."""
    return {name: (name, {"sd": 0.2}) for name in names}


def _fig1() -> list[Campaign]:
    belief = problem("shift-example").belief
    methods = {
        "WDRBO": ("wdrbo", {"radius": 0.1, "context": belief}),
        "WDRBO exact": ("wdrbo-exact", {"radius": 0.1, "context": belief}),
        "ERBO": ("wdrbo", {"radius": 0.0, "context": belief}),
    }
    return [Campaign(plain("shift-example"), methods, SEEDS, 100)]


def _fig2() -> list[Campaign]:
    problems = {
        **_wide("ackley", "modified-branin", "hartmann6", "portfolio-normal"),
        "three-hump-camel": ("three-hump-camel", {"law": "normal"}),
        **plain("newsvendor", "portfolio-uniform"),
    }
    ours: dict[str, tuple[str, Mapping[str, Any]]] = dict(plain("wdrbo", "wdrbo-exact", "erbo", "gp-ucb"))
    # The paper runs the methods of kde with its own surrogate.
    shared = {"samples": 512, "surrogate": GP()}
    methods = {**ours, "sbo-kde": ("sbo-kde", shared), "drbo-kde": ("drbo-kde", shared)}
    return [Campaign(problems, methods, SEEDS, 100, initial=5)]


def _table2() -> list[Campaign]:
    methods = ("wdrbo", "erbo", "gp-ucb", "sbo-kde", "drbo-kde", "drbo-mmd", "drbo-mmd-minimax", "stableopt")
    return [Campaign(_wide("ackley", "modified-branin"), methods, range(5), 100, initial=5)]


FIGURES = (
    Figure(
        "wasserstein-fig1",
        "wasserstein, Fig. 1",
        "WDRBO has less regret than ERBO.",
        _fig1,
        (Beats("WDRBO", "ERBO"),),
    ),
    Figure(
        "wasserstein-fig2",
        "wasserstein, Fig. 2",
        "WDRBO, ERBO and SBO-KDE have low regret.",
        _fig2,
        (Least(("wdrbo", "erbo", "sbo-kde"), besides=("wdrbo-exact",)),),
    ),
    Figure(
        "wasserstein-table2",
        "wasserstein, Table 2",
        "DRBO-KDE and DRBO-MMD take the most time.",
        _table2,
        tuple(
            Faster(quick, slow)
            for slow in ("drbo-kde", "drbo-mmd")
            for quick in ("wdrbo", "erbo", "gp-ucb", "sbo-kde", "drbo-mmd-minimax", "stableopt")
        ),
    ),
)
