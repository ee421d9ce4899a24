"""Packages that import their modules when a name of them is first used: commands that compute nothing start fast."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package (PEP 562).

    Args:
        package: its `__name__`.
        names: by module below the package, the names that are imported from there, separated by spaces; below the
            empty name, modules of the package.

    Example:
        >>> find, _ = lazy_names("json", {"decoder": "JSONDecoder"})
        >>> find("JSONDecoder").__name__
        'JSONDecoder'
    """
    module_of = {name: module for module, listed in names.items() for name in listed.split()}

    def find(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if module_of[name] == "":
            return importlib.import_module(f"{package}.{name}")
        found = getattr(importlib.import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, found)  # found at once from now on
        return found

    def listing() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return find, listing
