"""Figures run without the papers' data: problems are built when they are run, and those without data are named."""

import pytest
from typer.testing import CliRunner

from allweather.benchmark import reproduce
from allweather.benchmark.figures import Figure
from allweather.benchmark.papers import CATALOGUE
from allweather.cli import app
from allweather.errors import MissingData


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    for name in ("ALLWEATHER_DATA", "ALLWEATHER_DATA_URL"):
        monkeypatch.delenv(name, raising=False)


def test_campaigns_are_listed_without_data():
    for entry in CATALOGUE.values():
        if isinstance(entry, Figure):
            assert entry.campaigns()


def test_a_problem_that_needs_no_data_runs():
    found = reproduce("bocu-fig2", seeds=1, iterations=1, problems=["hartmann3"], methods=["Random"])
    assert len(found.results) == 6
    assert found.left_out == {}


def test_what_is_left_out_is_named():
    command = (
        "reproduce bocu-fig3 --seeds 1 --iterations 1 --problem hartmann3 --problem plant-ph --method TS-DRO --json"
    )
    run = CliRunner().invoke(app, command.split())
    assert run.exit_code == 0, run.output
    assert "plant_ph_nh3.npz is missing" in run.output
    assert '"plant-ph":' in run.output


def test_without_the_data_of_all_problems_there_is_an_error():
    with pytest.raises(MissingData, match=r"wind\.npz is missing"):
        reproduce("phi-fig4", quick=True)
