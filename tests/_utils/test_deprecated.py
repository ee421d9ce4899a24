import importlib
import sys

import pytest

import allweather as aw
from allweather._utils.deprecated import MOVED, new_name


@pytest.mark.parametrize("name", sorted(set(MOVED) - {"recipes", "report"}))
def test_moved_modules_import_under_their_former_name(name):
    sys.modules.pop(f"allweather.{name}", None)
    with pytest.warns(DeprecationWarning, match=f"allweather.{name}` is deprecated.*allweather.{MOVED[name]}"):
        found = importlib.import_module(f"allweather.{name}")
    assert found is sys.modules[f"allweather.{MOVED[name]}"]


def test_what_is_below_a_package_moved_with_it():
    with pytest.warns(DeprecationWarning, match="allweather.maximize"):
        from allweather.maximize.region import Region
    from allweather.acquisition.optimize.region import Region as Now

    assert Region is Now
    assert new_name("allweather.nothing") is None
    with pytest.warns(DeprecationWarning, match="allweather.maximize"), pytest.raises(ModuleNotFoundError):
        importlib.import_module("allweather.maximize.nothing")


def test_recipes_have_the_methods_they_had(tmp_path):
    sys.modules.pop("allweather.recipes", None)
    with pytest.warns(DeprecationWarning, match="now `allweather.serialization`"):
        from allweather.recipes import Kept, Recipe, space_of, to_toml
    recipe = Recipe.from_toml('name = "kiosk"\n[variables]\norder = { lower = 0, upper = 1 }')
    url = f"sqlite:///{tmp_path}/a.db"
    assert set(recipe.study(url).ask().decision) == {"order"}
    assert Recipe.of(dict(recipe.fields)).version == 1
    assert "order" in to_toml(recipe.fields)
    assert space_of(repr(recipe.space)) == recipe.space
    kept = Kept.open(url, "kiosk")
    assert kept.recipe == recipe.fields
    assert isinstance(kept.study(url), aw.Study)


def test_the_report_keeps_its_name():
    from allweather.report import write_report  # a warning would be an error

    assert aw.report.write_report is write_report
