import importlib
import subprocess
import sys

import pytest
from tests.integrations.clean_environments import LOOK


def test_the_library_imports_no_other_tool_unasked():
    subprocess.run([sys.executable, "-c", LOOK], check=True)


@pytest.mark.parametrize(("name", "tool"), [("optuna", "Optuna"), ("ax", "Ax"), ("gest_api", "gest-api")])
def test_a_missing_tool_is_named_with_the_extra_that_brings_it(name, tool, monkeypatch):
    for module in [module for module in sys.modules if module.startswith(f"allweather.integrations.{name}")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ModuleNotFoundError, match=rf"{tool} is not installed: `pip install .*\[{name.replace('_', '-')}\]'`"
    ):
        importlib.import_module(f"allweather.integrations.{name}")
