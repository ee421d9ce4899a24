"""What the commands of a release rely on, without building anything."""

from tests.release.distribution import written_versions
from tests.release.first_use import QUICK_START, ROOT, quick_start, readme_commands
from tests.release.matrix import LEVELS, PAGE, PYTHONS, extras, project, requirements, stored, table
from tests.release.smoke import OF_EXTRA


def test_there_is_one_version():
    assert len(set(written_versions().values())) == 1, written_versions()


def test_the_page_has_the_stored_matrix():
    assert table(stored()) in PAGE.read_text()


def test_failures_and_gaps_stand_in_the_matrix():
    row = {"python": "3.12", "extra": "plots", "level": "lowest", "verdict": "failed", "failed": ["the_demo"]}
    shown = table({"date": "2026-11-20", "wheel": "w", "rows": [row]})
    assert shown.count("**failed**") == 1
    assert shown.count("not tried") == len(extras()) * len(PYTHONS) * len(LEVELS) - 1
    assert "Python 3.12, plots, lowest: the_demo failed" in shown


def test_each_extra_of_users_has_a_smoke_test():
    assert set(extras()) == set(OF_EXTRA)


def test_requirements_of_an_extra_are_flat():
    found = requirements("dashboard")
    assert set(project()["dependencies"]) < set(found)
    assert any(each.startswith("matplotlib") for each in found)  # of the extra `plots`
    assert not any(each.startswith("allweather") for each in found)


def test_what_the_first_use_takes_from_readme():
    assert readme_commands() == ["make demo", "make test"]
    program = quick_start()
    assert QUICK_START.search((ROOT / "README.md").read_text())
    compile(program, "README.md", "exec")
    assert program.endswith("print(best)\n")
