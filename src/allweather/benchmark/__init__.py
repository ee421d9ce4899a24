"""Benchmarks: runs of methods on problems, resumable and in parallel, and what they show."""

from allweather.benchmark.campaign import Campaign
from allweather.benchmark.regret import Judge, Measure, optimum
from allweather.benchmark.report import figure, paired, summary
from allweather.benchmark.reproduce import Reproduction, reproduce, reproducible
from allweather.benchmark.runner import Run, execute

__all__ = [
    "Campaign",
    "Judge",
    "Measure",
    "Reproduction",
    "Run",
    "execute",
    "figure",
    "optimum",
    "paired",
    "reproduce",
    "reproducible",
    "summary",
]
