"""Options that commands share: the storage, the study, and JSON output."""

from __future__ import annotations

import functools
import inspect
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from allweather._utils.formatting import plain
from allweather.errors import InvalidInput, StorageError
from allweather.space.text import assignments
from allweather.space.variables import Variable
from allweather.trials import Row

if TYPE_CHECKING:
    from allweather.storage import Database, Journal
    from allweather.study import Study, StudyLog

DEFAULT_STORAGE = "sqlite:///allweather.db"
StorageOption = Annotated[
    str | None,
    typer.Option(
        "--storage",
        metavar="URL",
        envvar="ALLWEATHER_STORAGE",
        show_envvar=True,
        help=f"database URL; default: {DEFAULT_STORAGE} in the current folder",
    ),
]
StudyOption = Annotated[
    str | None, typer.Option("--study", metavar="NAME", help="name of the study; default: the only one in the database")
]
Known = Annotated[
    list[str] | None, typer.Option("--context", metavar="NAME=VALUE", help="the context, if it is known (repeatable)")
]
JsonOption = Annotated[bool, typer.Option("--json", help="print one JSON document on standard output")]


@dataclass(frozen=True)
class SharedOptions:
    """The database, the study in it, and the output format."""

    storage: str | None
    study_name: str | None
    as_json: bool

    @property
    def url(self) -> str:
        """The URL of the database."""
        return self.storage or DEFAULT_STORAGE

    @property
    def again(self) -> str:
        """The options that choose the same study in another command."""
        return study_options(self.storage, self.study_name)

    def database(self, create: bool = False) -> Database:
        """Open the database, which must exist: a command that reads creates no file.

        Args:
            create: create that of the current folder, which nobody has named and so not mistyped either.
        """
        from allweather.storage import Database  # here and below, since help and completion need no SQLAlchemy

        if not create or self.url != DEFAULT_STORAGE:
            _require_file(self.url)
        return Database(self.url)

    def journal(self) -> Journal:
        """Open the journal of the study."""
        from allweather.storage import Journal, names

        database = self.database()
        if self.study_name is not None:
            return Journal.open(database, self.study_name)
        known = names(database)
        if not known:
            raise InvalidInput(
                f"there is no study in {database.address} yet", remedy="create one with `allweather init`"
            )
        if len(known) > 1:
            raise InvalidInput(
                f"there are several studies in {database.address}: {', '.join(known)}", remedy="choose one with --study"
            )
        return Journal.open(database, known[0])

    def log(self) -> StudyLog:
        """Read the study from its journal, without its method: enough to tell and to show."""
        from allweather.study import StudyLog

        return StudyLog.of(self.journal())

    def study(self) -> Study:
        """Load the study with its method: needed to ask and to recommend."""
        from allweather.study import Study  # here, since it needs torch

        return Study.of(self.journal())

    def print(self, document: Any, print_text: Callable[[], None]) -> None:
        """Print the result of a command.

        Args:
            document: the result as plain data, printed with `--json`.
            print_text: prints the result as text otherwise.
        """
        if self.as_json:
            typer.echo(json.dumps(plain(document), allow_nan=False))
        else:
            print_text()


def study_options(storage: str | None, name: str | None) -> str:
    """Return the options that choose a database and a study, as they are typed after a command; without a password.

    Args:
        storage: the URL of the database; left out where it is the default.
        name: of the study; left out where it is None.

    Example:
        >>> study_options("sqlite:///farm.db", "red wheat")
        " --storage sqlite:///farm.db --study 'red wheat'"
    """
    from allweather.storage.address import parse_address, shown_address

    by_default = storage in (None, DEFAULT_STORAGE, os.environ.get("ALLWEATHER_STORAGE"))
    address = None if by_default or storage is None else shown_address(parse_address(storage))
    given = {"--storage": address, "--study": name}
    return "".join(f" {option} {shlex.quote(value)}" for option, value in given.items() if value is not None)


class Output(NamedTuple):
    """The result of a command in both formats."""

    document: Any
    """Plain data, for `--json`."""
    print_text: Callable[[], None]


def with_json_option(command: Callable[..., Output]) -> Callable[..., None]:
    """Add the option `--json` to a command that returns its output."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        shared = SharedOptions(None, None, given.pop("as_json"))
        shared.print(*command(**given))

    return _with_signature(wrapped, [*own, _option("as_json", JsonOption, False)])


def with_study_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options `--storage`, `--study` and `--json` to a command whose first parameter is `SharedOptions`."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    added = [
        _option("storage", StorageOption, None),
        _option("study", StudyOption, None),
        _option("as_json", JsonOption, False),
    ]

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        chosen = [given.pop(each.name) for each in added]
        command(SharedOptions(*chosen), **given)

    return _with_signature(wrapped, [*own, *added])


def _option(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _with_signature(command: Callable[..., None], parameters: Sequence[inspect.Parameter]) -> Callable[..., None]:
    """Give a command the signature that typer reads, all parameters by keyword."""
    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    command.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in named}
    return command


def _require_file(url: str) -> None:
    from allweather.storage.address import parse_address

    parsed = parse_address(url)
    file = parsed.database or ""
    named = parsed.get_backend_name() == "sqlite" and file and not file.startswith((":", "file:"))
    if named and not Path(file).exists():
        raise StorageError(
            f"there is no database {file!r}; create one with `allweather init`, or name another with --storage"
        )


def assigned(pairs: list[str] | None, variables: Mapping[str, Variable], option: str) -> Row | None:
    """Return the values that options such as `--context demand=31` give to variables; None where there are none.

    Args:
        pairs: each a name and a value.
        variables: by name.
        option: what errors call it.
    """
    return assignments(pairs or [], variables, option) or None
