import subprocess
import sys

import pytest
from clean_environments import LOOK


def test_the_library_imports_no_other_tool_unasked():
    subprocess.run([sys.executable, "-c", LOOK], check=True)


@pytest.mark.parametrize(("name", "tool"), [("optuna", "Optuna"), ("ax", "Ax")])
def test_a_missing_tool_is_named_with_the_extra_that_brings_it(name, tool):
    code = f"import sys; sys.modules[{name!r}] = None; import allweather.integrations.{name}"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert f"ModuleNotFoundError: {tool} is not installed: `pip install 'allweather[{name}]'`" in done.stderr
