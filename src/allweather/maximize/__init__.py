"""Maximising a score over decisions: one search for continuous, whole and chosen variables under linear constraints."""

from allweather.maximize.search import Best, Search

__all__ = ["Best", "Search"]
