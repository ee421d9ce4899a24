"""Benchmarks: runs of methods on problems, parallel and resumable, with summaries and figures."""

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.cost_summaries import at_costs, settled, summary_by_cost
from allweather.benchmark.regret import Judge, Measure, optimum
from allweather.benchmark.regret_figure import figure, figure_by_cost
from allweather.benchmark.reproduce import Reproduction, reproduce, reproducible
from allweather.benchmark.runner import Run, execute
from allweather.benchmark.subset_regret import SubsetJudge
from allweather.benchmark.summaries import paired, summary

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
    "optimum",
    "paired",
    "reproduce",
    "reproducible",
    "settled",
    "summary",
    "summary_by_cost",
]
