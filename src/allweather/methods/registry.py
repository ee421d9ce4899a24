"""Methods by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from allweather._utils.registry import unknown
from allweather.errors import InvalidInput
from allweather.methods.goals import PUBLISHED

if TYPE_CHECKING:
    from allweather.methods.composition import Composition

Factory = Callable[..., "Composition"]
_METHODS: dict[str, Factory] = {}


def named(factory: Factory) -> Factory:
    """Register a function as the method of its name."""
    name = factory.__name__.replace("_", "-")
    published = factory.__module__.startswith("allweather.methods.")
    if not published or name not in _METHODS:  # published methods may be imported after a user's own
        _METHODS[name] = factory
    return factory


def methods() -> dict[str, str]:
    """Return the methods by name, with a description of each.

    Example:
        >>> methods()["erbo"]
        'The empirical mean of the upper bound (wasserstein, Sec. 5).'
    """
    return {name: (inspect.getdoc(factory) or "").partition("\n")[0] for name, factory in sorted(_known().items())}


def method(name: str, **settings: Any) -> Composition:
    """Return the composition of a method, with some of its settings changed.

    Example:
        >>> method("sbo-kde", width=2.0).acquisition
        UCB(width=2.0)
    """
    factory = _known().get(name) if isinstance(name, str) else None
    if factory is None:
        raise unknown("method(name=...)", name, _known())
    known = list(inspect.signature(factory).parameters)
    strange = [setting for setting in settings if setting not in known]
    if strange:
        where, remedy = f"method({name!r}, {strange[0]}=...)", f"it has {', '.join(known)}"
        raise InvalidInput("has no such setting", where=where, remedy=remedy)
    return replace(factory(**settings), goal=PUBLISHED)


def _known() -> dict[str, Factory]:
    """The methods, which register when their modules are imported: here, since their parts need torch."""
    from allweather.methods import constrained, published, simulated, subsets

    _ = (constrained, published, simulated, subsets)
    return _METHODS
