"""`init`: a study from a file, or from questions."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from allweather.cli.app import app, speak
from allweather.cli.place import DEFAULT, Place, studied
from allweather.cli.questions import asked_for
from allweather.errors import InvalidInput, require
from allweather.serialization import Spec, to_toml
from allweather.serialization.spec import LARGEST
from allweather.storage import Database, names
from allweather.storage.memory import require_name
from allweather.study import Study


@app.command()
@studied
def init(
    place: Place,
    file: Annotated[Path | None, typer.Argument(help="a TOML file; without one, questions are asked")] = None,
) -> None:
    """Make a study from a TOML file, or by answering questions, which writes the file too.

    Example: allweather init kiosk.toml
    """
    if file is None:
        require(interactive(), "init [FILE]", "name a TOML file where nobody can be asked", "none")
        recipe, file = _questioned()
    else:
        recipe = Spec.from_toml(text_of(file), file.name)
    name = place.study_name or recipe.name or file.stem
    url = place.storage or recipe.storage or DEFAULT
    require_name(name)
    Study.from_spec(recipe)  # whatever is wrong with it is said before anything is written
    database = Database(url)
    if name in names(database):
        raise InvalidInput(
            f"a study {name!r} is in {database.address} already; give this one another name with --study"
        )
    Study.from_spec(recipe, url, name)
    found = url in (DEFAULT, os.environ.get("ALLWEATHER_STORAGE"))
    elsewhere = "" if found else f" --storage {database.address}"
    document = {"study": name, "storage": database.address, "file": str(file)}
    place.say(
        document,
        lambda: speak(f"The study {name} is kept in {database.address}. Next: allweather ask{elsewhere}"),
    )


def interactive() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty()


def text_of(file: Path, largest: int = LARGEST) -> str:
    """The text of a file that a user names."""
    try:
        require(file.is_file(), str(file), "be a file that exists", str(file))
        require(
            file.stat().st_size <= 4 * largest, str(file), f"have at most {largest} characters", file.stat().st_size
        )
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as problem:
        if isinstance(problem, InvalidInput):
            raise
        raise InvalidInput(f"`{file}` cannot be read: {problem}") from None


def write_new(file: Path, text: str) -> None:
    """Write a file that is not there yet."""
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise InvalidInput(f"`{file}` exists already, and is not overwritten") from None
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"`{file}` cannot be written: {problem}") from None


def _questioned() -> tuple[Spec, Path]:
    fields = asked_for()
    text = to_toml(fields)
    file = Path(f"{fields['name']}.toml")
    recipe = Spec.from_toml(text, file.name)
    Study.from_spec(recipe)
    write_new(file, text)
    return recipe, file
