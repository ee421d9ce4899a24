"""Catalogue of the figures and tables of the papers that can be reproduced, by name."""

from __future__ import annotations

from allweather.benchmark.figures import Figure
from allweather.benchmark.papers import bocu, kde, phi, phi_tables, subsets, wasserstein
from allweather.benchmark.tables import TABLES, Table

_PAPERS = (bocu, kde, phi, subsets, wasserstein)
_ALL: tuple[Figure | Table, ...] = (*(each for paper in _PAPERS for each in paper.FIGURES), *phi_tables.TABLES, *TABLES)
CATALOGUE = {each.name: each for each in sorted(_ALL, key=lambda each: each.name)}
