"""`init`: create a study from a TOML file or interactively."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allweather.cli.app import app, print_line
from allweather.cli.files import read_file, write_new_file
from allweather.cli.options import DEFAULT_STORAGE, SharedOptions, study_options, with_study_options
from allweather.cli.prompts import prompt_spec
from allweather.errors import InvalidInput, require
from allweather.serialization.toml import MAX_FILE_CHARACTERS, to_toml
from allweather.storage.memory import require_name

if TYPE_CHECKING:
    from allweather.study import Spec


@app.command()
@with_study_options
def init(
    shared: SharedOptions,
    file: Annotated[Path | None, typer.Argument(help="a TOML file; without one, its content is prompted for")] = None,
) -> None:
    """Create a study from a TOML file, or from prompts that write the file too.

    Example: allweather init kiosk.toml
    """
    from allweather.storage import Database, names
    from allweather.study import Spec, Study  # here, since parts need torch

    if file is None:
        require(interactive(), "init [FILE]", "name a TOML file where standard input is not a terminal", "no file name")
        spec, file = _prompted()
    else:
        spec = Spec.from_toml(read_file(file, MAX_FILE_CHARACTERS), file.name)
    name = shared.study_name or spec.name or file.stem
    url = shared.storage or spec.storage or DEFAULT_STORAGE
    require_name(name)
    Study.from_spec(spec)  # an invalid spec raises before anything is written
    database = Database(url)
    if name in names(database):
        raise InvalidInput(
            f"a study {name!r} is in {database.address} already", remedy="choose another name with --study"
        )
    Study.from_spec(spec, url, name)
    options = study_options(url, name if len(names(database)) > 1 else None)
    shared.print(
        {"study": name, "storage": database.address, "file": str(file)},
        lambda: print_line(f"Created study {name} in {database.address}. Next: allweather ask{options}"),
    )


def interactive() -> bool:
    """Return whether standard input is a terminal."""
    return sys.stdin.isatty()


def _prompted() -> tuple[Spec, Path]:
    from allweather.study import Spec, Study

    fields = prompt_spec()
    text = to_toml(fields)
    file = Path(f"{fields['name']}.toml")
    spec = Spec.from_toml(text, file.name)
    Study.from_spec(spec)
    write_new_file(file, text)
    return spec, file
