"""A registry of parts by name: every concrete subclass of a `Named` family registers itself."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterable
from typing import ClassVar, Self

from allweather.errors import InvalidInput


class Named:
    """A family of parts (distances, context models, ...) whose members are found by name.

    A direct subclass of `Named` starts a family; concrete subclasses of that are its members, registered under
    their class name in kebab case and under their own `aliases`.
    """

    aliases: ClassVar[tuple[str, ...]] = ()
    _members: ClassVar[dict[str, type[Named]]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if Named in cls.__bases__:
            cls._members = {}
        elif not inspect.isabstract(cls):
            for name in (kebab(cls.__name__), *cls.__dict__.get("aliases", ())):
                taken = cls._members.get(name)
                if taken is not None and taken.__module__.startswith("allweather."):
                    problem = f"must have a name of its own, {name!r} is {taken.__qualname__}"
                    raise InvalidInput(problem, where=cls.__name__)
                cls._members[name] = cls

    @classmethod
    def named(cls, name: str) -> type[Self]:
        """The member of this family called `name`.

        Example:
            >>> from allweather import Distance
            >>> Distance.named("tv").__name__
            'TotalVariation'
            >>> Distance.named("wasserstien")
            Traceback (most recent call last):
            allweather.errors.InvalidInput: `Distance.named(...)` knows no 'wasserstien'; did you mean 'wasserstein'?
        """
        member = cls._members.get(name) if isinstance(name, str) else None
        if member is None:
            raise unknown(f"{cls.__name__}.named(...)", name, cls._members)
        return member  # type: ignore[return-value]


def unknown(where: str, name: object, known: Iterable[str]) -> InvalidInput:
    """Return the error for an unknown name, with the known name that was probably meant.

    Example:
        >>> unknown("method(name=...)", "erb", ["erbo", "wdrbo"])
        InvalidInput("`method(name=...)` knows no 'erb'; did you mean 'erbo'?")
    """
    names = sorted(known)
    close = difflib.get_close_matches(str(name), names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(names)}"
    return InvalidInput(f"knows no {name!r}", where=where, remedy=hint)


def kebab(name: str) -> str:
    """`TotalVariation` -> `total-variation`, `KDE` -> `kde`, `CVaR` -> `cvar`.

    Example:
        >>> [kebab(name) for name in ("TotalVariation", "KDE", "CVaR")]
        ['total-variation', 'kde', 'cvar']
    """
    if name.isupper() or name in ("CVaR", "VaR"):
        return name.lower()
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()
