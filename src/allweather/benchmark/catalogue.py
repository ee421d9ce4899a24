"""Catalogue of the figures and tables of the papers that can be reproduced, by name."""

from __future__ import annotations

from allweather.benchmark.figures import PAPER_FIGURES, Figure
from allweather.benchmark.subset_figures import SUBSET_FIGURES
from allweather.benchmark.tables import TABLES, Table

_ALL: tuple[Figure | Table, ...] = (*PAPER_FIGURES, *SUBSET_FIGURES, *TABLES)
CATALOGUE = {each.name: each for each in sorted(_ALL, key=lambda each: each.name)}
