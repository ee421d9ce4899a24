"""Fewer looks back: each is a study of its own."""

import sys

import pytest

import allweather.plots  # noqa: F401  its module `progress` is hidden by the function


@pytest.fixture(autouse=True)
def few_looks_back(monkeypatch):
    monkeypatch.setattr(sys.modules["allweather.plots.progress"], "LOOKS", 4)
