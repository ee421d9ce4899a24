# ruff: noqa: E402 (Optuna may be missing)
"""The package for OptunaHub: by optunahub itself where it is installed, else by what its `load_local_module` does."""

import importlib.util
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

optuna = pytest.importorskip("optuna", reason="Optuna is not installed: pip install 'allweather[optuna]'")
import yaml

from allweather.integrations.optuna import AllweatherSampler

REGISTRY = Path(__file__).parents[2] / "examples" / "optunahub"
FOLDER = REGISTRY / "package" / "samplers" / "allweather"
README = (FOLDER / "README.md").read_text()
TRIALS = 4
pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")


def load_local_module(package, *, registry_root):
    name = f"optunahub_registry.package.{package.replace('/', '.')}"
    spec = importlib.util.spec_from_file_location(name, Path(registry_root, package, "__init__.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def hub(monkeypatch):
    """`optunahub`, whose registry is the folder here; studies of few trials."""
    if importlib.util.find_spec("optunahub") is None:
        monkeypatch.setitem(sys.modules, "optunahub_registry", ModuleType("optunahub_registry"))
        monkeypatch.setitem(sys.modules, "optunahub", ModuleType("optunahub"))
        monkeypatch.setattr(sys.modules["optunahub"], "load_local_module", load_local_module, raising=False)
    module = importlib.import_module("optunahub")

    def load_module(package):
        return module.load_local_module(package, registry_root=str(REGISTRY / "package"))

    monkeypatch.setattr(module, "load_module", load_module, raising=False)
    whole = optuna.Study.optimize
    monkeypatch.setattr(optuna.Study, "optimize", lambda study, f, n_trials: whole(study, f, n_trials=TRIALS))
    monkeypatch.chdir(REGISTRY)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return module


def test_it_is_our_sampler(hub):
    assert hub.load_module("samplers/allweather").AllweatherSampler is AllweatherSampler


def test_the_example_of_the_page_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("order = ")


def test_the_program_runs(capsys):
    runpy.run_path(str(FOLDER / "example.py"))["main"](TRIALS)
    assert "constraint_0 at most 0 with probability 0.8" in capsys.readouterr().out


def test_the_page_has_the_form_of_the_registry():
    _, header, text = README.split("---\n", 2)
    said = yaml.safe_load(header)
    assert list(said) == ["author", "title", "description", "tags", "optuna_versions", "license"]
    assert "sampler" in said["tags"]
    assert said["license"] == "MIT License"
    assert optuna.__version__.rpartition(".")[0] in {each.rpartition(".")[0] for each in said["optuna_versions"]}
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert sections == ["Abstract", "Class or Function Names", "Installation", "Example", "Others"]
    assert (FOLDER / "LICENSE").read_text() == (REGISTRY.parents[1] / "LICENSE").read_text()
