from pathlib import Path

import pytest
from typer.testing import CliRunner

import allweather as aw
from allweather.benchmark import reproduce, reproducible
from allweather.benchmark.papers import CATALOGUE
from allweather.cli import app

DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder that keeps the optima, which all methods share, and the runs that several entries share."""
    return tmp_path_factory.mktemp("reproductions")


OWN = [name for name in reproducible() if not getattr(CATALOGUE[name], "journals", "")]
"""Entries with runs of their own; those made from the runs of others are in `test_papers.py`."""


@pytest.mark.parametrize("name", OWN)
def test_every_figure_in_miniature(name, monkeypatch, shared):
    monkeypatch.setenv("ALLWEATHER_DATA", str(DATA))
    found = reproduce(name, quick=True, iterations=1, folder=shared)
    assert found.figure is None or found.figure.is_file()
    assert len(found.table) > 0
    if "mean" in found.table:  # of regret or time; others are values of objectives
        assert (found.table["mean"] > -1e-3).all()


def test_table_2_of_kde_is_the_papers():
    table = reproduce("kde-table2", seeds=60).table
    assert ((table["mean"] - table["published"]).abs() < 4 * table["standard_error"] + 0.02).all()


def test_from_the_command_line(tmp_path):
    run = CliRunner().invoke(
        app,
        f"reproduce wasserstein-fig1 --seeds 2 --iterations 2 --output {tmp_path}".split(),
    )
    assert run.exit_code == 0, run.output
    assert "wasserstein, Fig. 1" in run.output
    assert (tmp_path / "wasserstein-fig1" / "wasserstein-fig1.png").is_file()
    assert (tmp_path / "wasserstein-fig1" / "wasserstein-fig1.csv").is_file()


def test_mistakes_are_told_without_a_traceback():
    run = CliRunner().invoke(app, ["reproduce", "kde-fig9"])
    assert run.exit_code == 2
    assert "did you mean" in run.stderr
    assert "Traceback" not in run.stderr
    with pytest.raises(aw.InvalidInput, match="problems="):
        reproduce("kde-fig1", problems=["ackely"])


@pytest.mark.parametrize("command", ["methods", "problems", "figures"])
def test_lists(command):
    run = CliRunner().invoke(app, [command])
    assert run.exit_code == 0
    assert len(run.output.splitlines()) > 10
