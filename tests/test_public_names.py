"""No public name of release 0.1 has disappeared; `public_names.json` lists them as that release had them."""

import importlib
import json
from pathlib import Path

import pytest

import allweather as aw

NAMES = json.loads((Path(__file__).parent / "public_names.json").read_text())
MODULES = [name for name in NAMES if name.startswith("allweather")]
NEEDS = {"allweather.integrations.ax": "ax", "allweather.integrations.optuna": "optuna"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of other packages at import
@pytest.mark.parametrize("module", MODULES)
def test_names_of_modules(module):
    if module in NEEDS:
        pytest.importorskip(NEEDS[module], reason=f"{NEEDS[module]} is not installed")
    found = importlib.import_module(module)
    assert [name for name in NAMES[module] if not hasattr(found, name)] == []
    assert set(NAMES[module]) <= set(found.__all__)


def test_commands():
    from typer.main import get_command

    from allweather.cli import app

    assert set(NAMES["commands"]) <= set(get_command(app).commands)


def test_rest_paths(tmp_path):
    from allweather.dashboard import create_app

    url = f"sqlite:///{tmp_path}/a.db"
    aw.Study(aw.Space(x=aw.Real(0, 1)), storage=url)
    document = create_app(url).openapi()
    found = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert set(NAMES["paths"]) <= found
