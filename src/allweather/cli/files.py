"""Files that a user names: read with a size limit, written only where none exists."""

from __future__ import annotations

import os
from pathlib import Path

from allweather._utils.table_files import table_file_text
from allweather._utils.tables import Line, read_csv
from allweather.errors import InvalidInput, require

MAX_TABLE_CHARACTERS = 100_000_000
"""Characters of a table."""


def read_file(file: Path, limit: int) -> str:
    """Return the text of a file.

    Args:
        file: UTF-8, with or without a byte order mark.
        limit: of characters; a file of more than four bytes for each is not read.

    Raises:
        InvalidInput: if the file does not exist, is too large or cannot be read.
    """
    try:
        require(file.is_file(), str(file), "be a file that exists", str(file))
        size = file.stat().st_size
        require(size <= 4 * limit, str(file), f"have at most {limit} characters", size)
        return file.read_text(encoding="utf-8-sig")
    except InvalidInput:
        raise
    except (OSError, ValueError) as error:  # a UnicodeDecodeError is a ValueError
        raise InvalidInput(f"cannot be read: {error}", where=str(file)) from None


def read_lines(file: Path, limit: int = MAX_TABLE_CHARACTERS) -> list[Line]:
    """Return the rows of a CSV or .xlsx file.

    Args:
        file: that a user names.
        limit: of characters.

    Raises:
        InvalidInput: if the file does not exist, is too large, or holds no rows below a header.
    """
    lines = read_csv(table_file_text(file, limit))
    require(len(lines) > 0, file.name, "have rows below its header", "no rows")
    return lines


def write_new_file(file: Path, text: str, private: bool = False) -> None:
    """Write a file that does not exist yet.

    Args:
        file: the new file.
        text: its content.
        private: whether only its owner may read it.

    Raises:
        InvalidInput: if the file exists or cannot be written.
    """
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise InvalidInput(
            "exists already and is not overwritten", where=str(file), remedy="choose another name"
        ) from None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot be written: {error}", where=str(file)) from None
