"""Maximising a score over decisions: one search for continuous, whole and chosen variables under linear constraints."""

from allweather.acquisition.optimize.search import Best, Search

__all__ = ["Best", "Search"]
