"""The figures and tables of the papers that can be reproduced, one module per paper."""

from __future__ import annotations

from allweather.benchmark.figures import Figure, Table
from allweather.benchmark.papers import bocu, kde, phi, subsets, wasserstein

_PAPERS = (bocu, kde, phi, subsets, wasserstein)
_ALL: tuple[Figure | Table, ...] = tuple(each for paper in _PAPERS for each in paper.FIGURES)
CATALOGUE = {each.name: each for each in sorted(_ALL, key=lambda each: each.name)}
"""Figures and tables by name."""
