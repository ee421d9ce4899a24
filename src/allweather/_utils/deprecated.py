"""Modules under the names they had in release 0.1: they import with a `DeprecationWarning`, for one release."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED = {
    "clock": "_utils.timing",
    "composition": "methods.composition",
    "constraints": "space.constraints",
    "control": "methods.control",
    "controlled": "engine.controlled",
    "history": "trials.history",
    "maximize": "acquisition.optimize",
    "maximize.climb": "acquisition.optimize.bfgs",
    "maximize.quadratic": "acquisition.optimize.quadratic_program",
    "observations": "surrogates.observations",
    "outlook": "engine.posterior_view",
    "recipes": "serialization",
    "recommendation": "engine.recommendation",
    "registry": "_utils.registry",
    "report": "plots.report",
    "splits": "engine.splits",
    "storage.exchange": "storage.export",
    "storage.glance": "storage.summary",
    "storage.place": "storage.storage",
    "tensors": "_utils.tensors",
    "variables": "space.variables",
}
"""Where each module is now, below `allweather`; what is below a package moved with it."""
PUBLIC = {"report"}
"""Names that stay."""


class _Alias(MetaPathFinder, Loader):
    """Finds a module under its former name, which then is the module that it has become."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """Return how a moved module is loaded; None for all others."""
        return None if new_name(fullname) is None else ModuleSpec(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Put the module in place of its alias."""
        old = module.__name__
        new = new_name(old) or old
        if old.removeprefix("allweather.") not in PUBLIC:
            warnings.warn(f"`{old}` is deprecated and will be removed: it is now `{new}`", DeprecationWarning, 2)
        found = importlib.import_module(new)
        sys.modules[old] = _recipes(module, found) if old == "allweather.recipes" else found


def new_name(fullname: str) -> str | None:
    """Return what a module of release 0.1 is called now, or None where it has not moved.

    Example:
        >>> new_name("allweather.maximize.climb"), new_name("allweather.study")
        ('allweather.acquisition.optimize.bfgs', None)
    """
    root, _, inner = fullname.partition(".")
    if root != "allweather":
        return None
    head, _, tail = inner.partition(".")
    if inner in MOVED:
        return f"allweather.{MOVED[inner]}"
    return f"allweather.{MOVED[head]}.{tail}" if head in MOVED and tail else None


def install() -> None:
    """Let the former names be imported."""
    if not any(isinstance(finder, _Alias) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Alias())  # first: below a package that moved, files are found under both names


def _recipes(module: ModuleType, serialization: ModuleType) -> ModuleType:
    """`Recipe` and `Kept` with the methods that they had."""
    stored: Any = importlib.import_module("allweather.storage.stored_study").StoredStudy
    study: Any = importlib.import_module("allweather.study").Study
    spec: Any = serialization.Spec

    class Recipe(spec):  # type: ignore[misc]
        """A `Spec`; `Study.from_spec` makes the study."""

        @classmethod
        def of(cls, fields: Any, where: str = "recipe") -> Any:
            """Return a recipe that was kept as plain data."""
            return cls.from_stored(fields, where)

        def study(self, storage: str | None = None, name: str | None = None) -> Any:
            """Return the study itself."""
            return study.from_spec(self, storage, name)

    class Kept(stored):  # type: ignore[misc]
        """A `StoredStudy`; `Study.load` makes the study."""

        @property
        def recipe(self) -> Any:
            """What the study is made of."""
            return self.spec

        def study(self, url: str) -> Any:
            """Return the study with all its parts."""
            return study.load(url, self.journal.name)

    names = {"Kept": Kept, "Recipe": Recipe, "space_of": serialization.space_of, "to_toml": serialization.to_toml}
    vars(module).update(names, __all__=sorted(names))
    return module
