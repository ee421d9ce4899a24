"""Benchmarks: runs of methods on problems, resumable and in parallel, and what they show."""

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.costs import at_costs, figure_by_cost, settled, summary_by_cost
from allweather.benchmark.regret import Judge, Measure, optimum
from allweather.benchmark.report import figure, paired, summary
from allweather.benchmark.reproduce import Reproduction, reproduce, reproducible
from allweather.benchmark.runner import Run, execute
from allweather.benchmark.subset_regret import SubsetJudge

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
