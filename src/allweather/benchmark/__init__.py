"""Benchmarks: runs of methods on problems, parallel and resumable, with summaries and figures."""

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.latex import latex
from allweather.benchmark.regret import Judge, Measure, SubsetJudge, optimum
from allweather.benchmark.regret_figure import figure, figure_by_cost
from allweather.benchmark.reproduce import Reproduction, reproduce, reproducible
from allweather.benchmark.run import Run
from allweather.benchmark.runner import execute
from allweather.benchmark.summaries import at_costs, paired, settled, summary, summary_by_cost

__all__ = [
    "Campaign",
    "Judge",
    "Measure",
    "Reproduction",
    "Run",
    "SubsetJudge",
    "at_costs",
    "execute",
    "figure",
    "figure_by_cost",
    "latex",
    "optimum",
    "paired",
    "reproduce",
    "reproducible",
    "settled",
    "summary",
    "summary_by_cost",
]
