"""Which study a command is about: the options that all of them share."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import sqlalchemy as sa
import typer

from allweather._utils.formatting import plain
from allweather.errors import InvalidInput
from allweather.storage import Database, Journal, StorageError, names
from allweather.storage.stored_study import StoredStudy
from allweather.study import Study

DEFAULT = "sqlite:///allweather.db"
Url = Annotated[
    str | None,
    typer.Option(
        "--storage",
        metavar="URL",
        envvar="ALLWEATHER_STORAGE",
        show_envvar=True,
        help=f"the database; if not given, {DEFAULT} in this folder",
    ),
]
Name = Annotated[
    str | None, typer.Option("--study", metavar="NAME", help="the study; if not given, the only one there")
]
AsJson = Annotated[bool, typer.Option("--json", help="one JSON document on standard output, for scripts")]


@dataclass(frozen=True)
class Place:
    """A database, and a study in it."""

    storage: str | None
    study_name: str | None
    as_json: bool
    """Whether to speak to a script."""

    @property
    def url(self) -> str:
        """The database's address."""
        return self.storage or DEFAULT

    def database(self) -> Database:
        """The database, which must be there: looking for a study makes no file."""
        _require_file(self.url)
        return Database(self.url)

    def journal(self) -> Journal:
        """The study's journal."""
        database = self.database()
        if self.study_name is not None:
            return Journal.open(database, self.study_name)
        known = names(database)
        if not known:
            raise InvalidInput(f"there is no study in {database.address} yet; `allweather init` makes one")
        if len(known) > 1:
            raise InvalidInput(f"there are several studies in {database.address}: {', '.join(known)}; choose --study")
        return Journal.open(database, known[0])

    def kept(self) -> StoredStudy:
        """The study as far as its journal goes: for telling and showing."""
        return StoredStudy.of(self.journal())

    def study(self) -> Study:
        """The study with all its parts: for deciding."""
        return Study.load(self.url, self.kept().journal.name)

    def say(self, document: Any, aloud: Callable[[], None]) -> None:
        """A JSON document for a script, or words for a person."""
        if self.as_json:
            typer.echo(json.dumps(plain(document), allow_nan=False))
        else:
            aloud()


class Said(NamedTuple):
    """What a command has to say."""

    document: Any
    """For a script."""
    aloud: Callable[[], None]
    """Says it to a person."""


def scripted(command: Callable[..., Said]) -> Callable[..., None]:
    """Gives a command that returns what it has to say the option to say it as JSON."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())

    @functools.wraps(command)
    def spoken(**given: Any) -> None:
        place = Place(None, None, given.pop("as_json"))
        place.say(*command(**given))

    return _signed(spoken, [*own, _option("as_json", AsJson, False)])


def studied(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command, whose first parameter is a `Place`, the options that say which."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    shared = [_option("storage", Url, None), _option("study", Name, None), _option("as_json", AsJson, False)]

    @functools.wraps(command)
    def placed(**given: Any) -> None:
        chosen = [given.pop(each.name) for each in shared]
        command(Place(*chosen), **given)

    return _signed(placed, [*own, *shared])


def _option(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _signed(command: Callable[..., None], parameters: Sequence[inspect.Parameter]) -> Callable[..., None]:
    """A command with these parameters for typer to read, all of them given by name."""
    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    command.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in named}
    return command


def _require_file(url: str) -> None:
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        return  # the database says what is wrong with it
    file = parsed.database or ""
    named = parsed.get_backend_name() == "sqlite" and file and not file.startswith((":", "file:"))
    if named and not Path(file).exists():
        raise StorageError(f"there is no database {file!r} here; `allweather init` makes one, --storage names another")
