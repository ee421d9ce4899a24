"""What a released version stored opens with this one, and goes on with the same decisions."""

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.release.storing import FOLDER, SPECS, decisions

from allweather.storage import Database, Journal, import_lines
from allweather.study import Spec, Study

VERSIONS = sorted(path.name for path in FOLDER.iterdir())
EVERY = [(version, name) for version in VERSIONS for name in SPECS]
CHANGES = Path(__file__).parents[2] / "CHANGELOG.md"


def text(version, name):
    return (FOLDER / version / name).read_text()


def test_every_released_version_is_kept():
    assert set(re.findall(r"^## \[(\d\S*)\]", CHANGES.read_text(), re.MULTILINE)) == set(VERSIONS)


@pytest.mark.parametrize(("version", "name"), EVERY)
def test_a_database_goes_on_with_the_same_decisions(version, name, tmp_path):
    shutil.copy(FOLDER / version / "studies.db", tmp_path)
    decided = decisions(Study.load(f"sqlite:///{tmp_path}/studies.db", name))
    expected = json.loads(text(version, "decisions.json"))[name]
    for key in ("recommended", "asked"):  # the same to rounding, which differs between processors
        assert decided.pop(key) == pytest.approx(expected.pop(key), rel=1e-3, abs=1e-3)
    assert decided.pop("value") == pytest.approx(expected.pop("value"), rel=1e-3)
    assert decided == expected


@pytest.mark.parametrize(("version", "name"), EVERY)
def test_an_export_has_the_events_of_the_database(version, name, tmp_path):
    shutil.copy(FOLDER / version / "studies.db", tmp_path)
    kept = Journal.open(Database(f"sqlite:///{tmp_path}/studies.db"), name)
    new = Database(f"sqlite:///{tmp_path}/new.db")
    assert import_lines(new, text(version, f"{name}.jsonl").splitlines()) == name
    assert Journal.open(new, name).read() == kept.read()
    assert Journal.open(new, name).spec == kept.spec


@pytest.mark.parametrize(("version", "name"), EVERY)
def test_a_spec_reads_as_it_did(version, name, tmp_path):
    shutil.copy(FOLDER / version / "studies.db", tmp_path)
    kept = Study.load(f"sqlite:///{tmp_path}/studies.db", name).spec
    assert Spec.from_toml(text(version, f"{name}.toml")).decoded().fields == kept.fields
