"""Figures and tables of kde."""

from __future__ import annotations

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.claims import Faster, Least
from allweather.benchmark.figures import Figure, Settings, plain
from allweather.surrogates import GP

SEEDS = range(100, 105)
OTHERS = ("sbo-kde", "drbo-kde", "drbo-mmd", "drbo-mmd-minimax", "stableopt")


def _campaigns(problems: Settings) -> list[Campaign]:
    methods = {**plain(*OTHERS), "gp-ucb": ("gp-ucb", {"surrogate": GP("matern", outputscale="fit")})}
    return [Campaign(problems, methods, SEEDS, 100)]


def _fig1() -> list[Campaign]:
    return _campaigns(
        plain(
            "ackley",
            "modified-branin",
            "hartmann6",
            "complicated-hartmann",
            "newsvendor",
            "portfolio-normal",
            "portfolio-uniform",
        )
    )


def _fig2() -> list[Campaign]:
    return _campaigns(plain("ackley-4c"))


def _table1() -> list[Campaign]:
    return _campaigns(plain("ackley"))


_LEAST = (Least(("sbo-kde", "drbo-kde")),)
_TIMES = (
    *(Faster("gp-ucb", other) for other in OTHERS),
    *(Faster(other, "drbo-mmd") for other in ("gp-ucb", *OTHERS) if other != "drbo-mmd"),
)
FIGURES = (
    Figure("kde-fig1", "kde, Fig. 1", "SBO-KDE and DRBO-KDE have the least regret.", _fig1, _LEAST),
    Figure("kde-fig2", "kde, Fig. 2", "The same holds with four context variables.", _fig2, _LEAST),
    Figure("kde-table1", "kde, Table 1", "GP-UCB takes the least time, DRBO-MMD the most.", _table1, _TIMES),
)
