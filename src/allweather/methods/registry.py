"""Methods by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from allweather._utils.registry import unknown
from allweather.errors import InvalidInput
from allweather.methods.composition import Composition

Recipe = Callable[..., Composition]
_RECIPES: dict[str, Recipe] = {}


def named(recipe: Recipe) -> Recipe:
    """Makes a function the recipe of the method called like it."""
    _RECIPES[recipe.__name__.replace("_", "-")] = recipe
    return recipe


def methods() -> dict[str, str]:
    """The methods by name, with what each is.

    Example:
        >>> methods()["erbo"]
        'The empirical mean of the upper bound (wasserstein, Sec. 5).'
    """
    return {name: (inspect.getdoc(recipe) or "").partition("\n")[0] for name, recipe in sorted(_RECIPES.items())}


def method(name: str, **settings: Any) -> Composition:
    """The composition called `name`, with some of its settings changed.

    Example:
        >>> method("sbo-kde", width=2.0).acquisition
        UCB(width=2.0)
    """
    recipe = _RECIPES.get(name) if isinstance(name, str) else None
    if recipe is None:
        raise unknown("method(name=...)", name, _RECIPES)
    known = list(inspect.signature(recipe).parameters)
    strange = [setting for setting in settings if setting not in known]
    if strange:
        raise InvalidInput(f"`method({name!r}, {strange[0]}=...)` has no such setting; it has {', '.join(known)}")
    return recipe(**settings)
