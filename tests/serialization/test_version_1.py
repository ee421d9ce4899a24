"""What version 1 wrote is read, and goes on with the decisions that version 1 would have made."""

import dataclasses
import json
import logging
import math
import shutil
from pathlib import Path

import pytest

import allweather as aw
from allweather._utils.registry import Named
from allweather.benchmark import Run
from allweather.benchmark.runner import RunJournal, execute
from allweather.methods.defaults import DEFAULTS, EVERY_TRIAL, LEGACY
from allweather.serialization import Arguments, Spec, decode_part, encode_part, legacy, spec_of
from allweather.serialization.compositions import as_stored
from allweather.serialization.parts import decode_setting, encode_settings
from allweather.storage import Database, import_lines
from allweather.storage.stored_study import StoredStudy
from allweather.surrogates import Surrogate

FILES = Path(__file__).parent / "version_1"
STUDIES = ["default", "choice", "nothing-random", "parts", "method", "known", "control", "control-default"]
SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))


def imported(name, tmp_path):
    """The address of a database with an export of version 1, and what version 1 decided next."""
    *lines, expected = (FILES / f"{name}.jsonl").read_text().splitlines()
    tmp_path.mkdir(exist_ok=True)
    url = f"sqlite:///{tmp_path}/a.db"
    assert import_lines(Database(url), lines) == name
    return url, json.loads(expected)


def close(found, expected):
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name] == (pytest.approx(value, rel=1e-3, abs=1e-3) if isinstance(value, float) else value)


@pytest.mark.parametrize("name", STUDIES)
def test_exports_go_on_with_the_same_decisions(name, tmp_path):
    url, expected = imported(name, tmp_path)
    assert StoredStudy.open(url, name).spec["version"] == 1
    study = aw.Study.load(url, name)
    close(study.recommend().decision, expected["recommended"])  # its value now accounts for the law being learned
    close(study.ask().decision, expected["asked"])


def test_the_variables_of_a_study_made_by_code_are_read_from_its_description(tmp_path):
    url, _ = imported("code", tmp_path)
    stored = StoredStudy.open(url, "code")
    assert stored.spec is None
    assert stored.space == SPACE
    assert len(stored.history.trials) == 8


def test_the_frozen_journal_of_the_first_schema_is_read(tmp_path):
    shutil.copy(FILES.parents[1] / "storage" / "first-schema.db", tmp_path / "old.db")
    stored = StoredStudy.open(f"sqlite:///{tmp_path}/old.db", "kiosk")
    assert len(stored.history.trials) >= 7
    assert set(stored.history.trials[0].decision) == set(stored.space.decisions)


def test_a_campaign_goes_on_from_its_journal(tmp_path):
    run = Run("newsvendor", "drbo-kde", seed=1, iterations=4)
    lines = (FILES / "campaign-journal.jsonl").read_text().splitlines()
    (tmp_path / "journals").mkdir()
    journal = tmp_path / "journals" / f"{run.key}.jsonl"
    journal.write_text("\n".join(lines[:-1]) + "\n")
    assert len(execute(run, tmp_path)) == 4
    found, expected = RunJournal.read(journal).trials, RunJournal(entries=[json.loads(line) for line in lines]).trials
    assert found[:-1] == expected[:-1]
    close(found[-1].decision, expected[-1].decision)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["default", "parts", "finite", "method", "named"])
def test_ax_files_go_on_with_the_same_trials(name, tmp_path):
    pytest.importorskip("ax", reason="Ax is not installed: pip install 'allweather[ax]'")
    from allweather.integrations.ax import AllweatherNode  # isort: skip (it silences Ax's own imports)
    from ax.api.client import Client
    from ax.utils.common.logger import set_ax_logger_levels

    set_ax_logger_levels(logging.ERROR)
    expected = json.loads((FILES / f"ax-{name}-next.json").read_text())
    client = Client.load_from_json_file(str(FILES / f"ax-{name}.json"))
    assert AllweatherNode.of(client).options.method.goal == LEGACY
    client.save_to_json_file(str(tmp_path / "again.json"))  # in the present format, with the earlier defaults
    for each in (client, Client.load_from_json_file(str(tmp_path / "again.json"))):
        ((_, values),) = each.get_next_trials(1).items()
        close(values, expected)


def kinds():
    """Every class of parts, by name."""
    found, classes = {}, [Named, Surrogate]
    while classes:
        each = classes.pop()
        found[each.__name__] = each
        classes += each.__subclasses__()
    return found


def test_every_row_of_earlier_defaults_names_a_setting():
    known = kinds()
    assert all(version < legacy.VERSION for version in legacy.DEFAULTS)
    for rows in legacy.DEFAULTS.values():
        for name, settings in rows.items():
            fields = {field.name: field.default for field in dataclasses.fields(known[name])}
            assert set(settings) <= set(fields), name
            for field, value in settings.items():
                assert value != fields[field], f"{name}.{field} has this default still: the row is needless"


def test_a_changed_default_means_what_it_meant(monkeypatch):
    monkeypatch.setitem(legacy.DEFAULTS, 1, {"KDE": {"samples": 64}, "GP": {"kernel": "matern"}})
    assert decode_part("context", "kde", "k", version=1) == aw.KDE(64)
    assert decode_part("context", {"name": "kde", "samples": 9}, "k", version=1) == aw.KDE(9)
    assert decode_part("context", "kde", "k") == aw.KDE()
    assert decode_part("surrogate", "gp", "k", version=1).kernel == "matern"
    fields = {"context": "kde", "variables": {"x": {"lower": 0, "upper": 1}, "c": {"lower": 0, "upper": 1}}}
    fields["variables"]["c"]["context"] = True
    study = aw.Study.from_spec(Spec.from_stored(fields))
    assert study._engine.parts.context.samples == 64
    assert aw.Study.from_spec(Spec(fields))._engine.parts.context.samples == 1024
    assert study.spec["goal"] == LEGACY
    again = aw.Study.from_spec(Spec.from_stored(study.spec))
    assert repr(again._engine.parts) == repr(study._engine.parts)


def test_nothing_and_infinity_have_plain_forms():
    @dataclasses.dataclass(frozen=True)
    class Given:
        limit: float | None = 1.0

    assert encode_settings(Given(None)) == {"limit": "none"}
    assert encode_settings(Given(-math.inf)) == {"limit": "-inf"}
    assert encode_settings(Given()) == {}
    assert decode_setting("limit", "none", "k", float | None) is None
    assert decode_setting("limit", "-inf", "k", float | None) == -math.inf
    far = aw.DRO(aw.Wasserstein(0.1, norm=math.inf))
    assert decode_part("objective", encode_part("objective", far), "k") == far


@pytest.mark.parametrize("goal", list(DEFAULTS))
def test_goals_are_written_and_read(goal):
    study = aw.Study(SPACE, method=aw.Composition(goal=goal))
    assert study.spec.get("goal", EVERY_TRIAL) == goal
    again = aw.Study.from_spec(Spec.from_stored(study.spec))
    assert repr(again._engine.parts) == repr(study._engine.parts)


def test_versions():
    assert spec_of(Arguments(SPACE, aw.Composition()))["version"] == legacy.VERSION
    variables = {"x": {"lower": 0, "upper": 1}}
    assert Spec.from_toml("[variables]\nx = { lower = 0, upper = 1 }").version == legacy.VERSION
    assert Spec.from_stored({"variables": variables}).to_dict()["version"] == 1
    assert Spec.from_stored({"version": 2, "variables": variables}).version == 2
    for version in (0, legacy.VERSION + 1):
        with pytest.raises(aw.InvalidInput, match=r"k: version.*must be 1 to"):
            Spec({"version": version, "variables": variables}, "k")


def test_what_is_stored_has_a_version(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    aw.Study(SPACE, storage=url, name="code", objective=aw.DRO(aw.KL(lambda step: 1 / step)))
    aw.Study(SPACE, storage=url, name="plain")
    aw.Study.from_spec(Spec.from_toml('name = "typed"\n[variables]\nx = { lower = 0, upper = 1 }'), url)
    documents = {name: StoredStudy.open(url, name).journal.recipe for name in ("code", "plain", "typed")}
    assert documents["plain"]["recipe"]["version"] == documents["typed"]["recipe"]["version"] == legacy.VERSION
    assert documents["code"]["recipe"] is None
    assert documents["code"]["variables"]["demand"] == {"lower": 0, "upper": 1, "context": True}
    assert StoredStudy.open(url, "code").space == SPACE


def test_code_that_made_a_study_resumes_it_with_the_same_decisions(tmp_path):
    url, expected = imported("default", tmp_path)
    stored = StoredStudy.open(url, "default")
    study = aw.Study(stored.space, storage=url, name="default", seed=stored.spec["seed"])
    close(study.ask().decision, expected["asked"])
    url, expected = imported("parts", tmp_path / "second")
    spec = StoredStudy.open(url, "parts")
    given = Spec(
        {**spec.spec, "version": legacy.VERSION}, "k"
    ).arguments()  # as the code wrote it, with today's defaults
    close(aw.Study(spec.space, **given, storage=url, name="parts").ask().decision, expected["asked"])


EARLIER = [
    ("ts-bocu", "acquisition", aw.FourierThompson(pairs=False)),
    ("drbo-mmd", "objective", aw.DRO(aw.MMD(aw.SampleMMDRadius()))),
    ("drbo-mmd-minimax", "objective", aw.MinimaxApproximation(aw.MMD(aw.SampleMMDRadius()))),
    *((name, "acquisition", aw.UCB(2.0)) for name in ("ucb-bocu", "ucb-bocu-1", "ucb-bocu-2", "ucb-ro", "ucb-so")),
]
"""Published methods by name, and the part that they had in version 1 and do not have now."""


@pytest.mark.parametrize(("name", "key", "then"), EARLIER)
def test_published_methods_by_name_have_the_parts_of_then(name, key, then, tmp_path):
    assert getattr(aw.method(name), key) != then
    fields = {"method": name, "variables": {"x": {"lower": 0, "upper": 1}, "c": {"lower": 0, "upper": 1}}}
    fields["variables"]["c"]["context"] = True
    study = aw.Study.from_spec(Spec.from_stored(fields))
    assert getattr(study._engine.parts, key) == then
    assert getattr(aw.Study.from_spec(Spec.from_stored(study.spec))._engine.parts, key) == then
    assert getattr(aw.Study.from_spec(Spec(fields))._engine.parts, key) != then
    stored = as_stored(aw.method(name), None, ["c"])  # the code that made it, run again
    assert getattr(stored, key) == then
    other = aw.UCB(3.0) if key == "acquisition" else aw.WorstCase()
    replaced = as_stored(aw.method(name).with_parts(**{key: other}), None, ["c"])
    assert getattr(replaced, key) == other


@pytest.mark.parametrize("name", ["ei-psq", "ei-psq-per-cost"])
def test_improvement_was_over_the_best_decision(name):
    assert aw.method(name).acquisition == aw.ExpectedImprovement(best="data")
    assert as_stored(aw.method(name), None, []).acquisition == aw.ExpectedImprovement(best="decisions")


def test_code_resumes_a_published_method_with_the_parts_of_then(tmp_path):
    url = f"sqlite:///{tmp_path}/a.db"
    fields = {**aw.Study(SPACE, method=aw.method("ucb-so", width=2.0)).spec, "version": 1}
    aw.Study.from_spec(Spec(fields), url, "earlier")
    aw.Study(SPACE, storage=url, name="present", method="ucb-so")
    widths = {
        name: aw.Study(SPACE, storage=url, name=name, method="ucb-so")._engine.parts.acquisition.width
        for name in ("earlier", "present")
    }
    assert widths == {"earlier": 2.0, "present": math.sqrt(2)}
    other = {"storage": url, "name": "earlier", "method": aw.method("ucb-so", width=1.0)}
    with pytest.raises(aw.InvalidInput, match=r"width 2.0, got 1.0"):
        aw.Study(SPACE, **other)
    given = aw.Study(SPACE, **other, existing="given")
    again = aw.Study.load(url, "earlier")
    assert given._engine.parts.acquisition.width == again._engine.parts.acquisition.width == 1.0
    assert given.spec == again.spec == aw.Study(SPACE, **other).spec


def test_every_row_of_earlier_methods_names_a_setting():
    for version, rows in legacy.METHODS.items():
        assert version < legacy.VERSION
        for name, settings in rows.items():
            now, then = aw.method(name), aw.method(name, **settings)
            assert any(
                repr(getattr(now, key)) != repr(getattr(then, key)) for key in ("objective", "acquisition", "rule")
            )
