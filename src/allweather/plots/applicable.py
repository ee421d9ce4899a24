"""Which figures do not apply to a study, from its spec alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def absent_figures(spec: Mapping[str, Any] | None, controlled: bool, contexts: bool) -> set[str]:
    """Return the figures that a study does not have.

    Args:
        spec: of the study.
        controlled: whether it has control sets.
        contexts: whether some variable is a context.

    Example:
        >>> spec = {"outcomes": {"yield": "maximize", "purity": {"name": "at-least", "threshold": 0.9}}}
        >>> sorted(absent_figures(spec, controlled=False, contexts=True))
        ['front', 'frontier']
    """
    parts = ((spec or {}).get("outcomes") or {}).values()
    names = [part if isinstance(part, str) else part.get("name") for part in parts]
    wanted = sum(name in ("maximize", "minimize") for name in names)
    has = {"frontier": controlled, "robustness": contexts, "contexts": contexts}
    has |= {"front": wanted > 1, "feasibility": wanted < len(names), "limits": contexts and wanted < len(names)}
    return {name for name, present in has.items() if not present}
