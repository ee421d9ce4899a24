"""Table files as text: their encoding is recognized, and a sheet of an Excel workbook becomes lines of cells."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from allweather._utils.installation import install_command
from allweather.errors import InvalidInput, require

BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")
ZIP = b"PK\x03\x04"
"""First bytes of an .xlsx file."""
OLD_WORKBOOK = b"\xd0\xcf\x11\xe0"
"""First bytes of an .xls file."""
MAX_UNPACKED_BYTES = 400_000_000
"""Bytes of a workbook after decompression."""
SAVE_AS = "save it as CSV UTF-8 (in Excel: Save As, CSV UTF-8)"


def table_file_text(file: Path, limit: int | None = None) -> str:
    """Return the text of a table file: CSV in UTF-8, UTF-16 or Windows-1252, or one sheet of an .xlsx workbook.

    Args:
        file: that exists.
        limit: of characters; a file of more than four bytes for each is not read.

    Raises:
        InvalidInput: if the file does not exist, is too large or is no table.
    """
    where = str(file)
    try:
        require(file.is_file(), where, "be a file that exists", where)
        size = file.stat().st_size
        require(limit is None or size <= 4 * limit, where, f"have at most {limit} characters", size)
        return table_text(file.read_bytes(), where)
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error}", where=where) from None


def table_text(content: bytes, where: str = "table") -> str:
    r"""Return the text of a table from the bytes of its file.

    Args:
        content: of the file.
        where: what errors call it.

    Example:
        >>> table_text("größe;wert\n0,5;1".encode("cp1252")), table_text("größe".encode("utf-16"))
        ('größe;wert\n0,5;1', 'größe')
    """
    if content.startswith(ZIP):
        return _as_csv(_sheet(content, where))
    if content.startswith(OLD_WORKBOOK):
        raise InvalidInput("is an old Excel workbook (.xls)", where=where, remedy=f"{SAVE_AS}, or as .xlsx")
    for encoding in _encodings(content):
        try:
            text = content.decode(encoding)
        except UnicodeError:
            continue
        if "\0" not in text:
            return text
    raise InvalidInput("is not a text file in UTF-8, UTF-16 or Windows-1252", where=where, remedy=SAVE_AS)


def _encodings(content: bytes) -> Sequence[str]:
    """The encodings to try, the likely ones first: every file is text in Windows-1252 but for five bytes."""
    if content.startswith(BYTE_ORDER_MARKS):
        return ("utf-16",)
    sample = content[:2000]
    zeros = [sample[start::2].count(0) / max(len(sample[start::2]), 1) for start in (0, 1)]
    if max(zeros) > 0.5:  # UTF-16 without a mark: every other byte of Latin text is zero
        return ("utf-16-be" if zeros[0] > zeros[1] else "utf-16-le",)
    return "utf-8-sig", "cp1252"


def _sheet(content: bytes, where: str) -> list[Sequence[Any]]:
    """The cells of the only sheet of a workbook that has any."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            known = "xl/workbook.xml" in packed.namelist()
            size = sum(each.file_size for each in packed.infolist())
    except zipfile.BadZipFile as error:
        raise InvalidInput(f"is a damaged workbook: {error}", where=where, remedy=SAVE_AS) from None
    if not known:
        raise InvalidInput("is neither a CSV table nor an .xlsx workbook", where=where, remedy=SAVE_AS)
    require(size <= MAX_UNPACKED_BYTES, where, f"have at most {MAX_UNPACKED_BYTES} bytes unpacked", size, SAVE_AS)
    try:
        import openpyxl
    except ImportError:
        remedy = f"install it with `{install_command('excel')}`, or {SAVE_AS}"
        raise InvalidInput("is an Excel workbook, which needs openpyxl", where=where, remedy=remedy) from None
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheets = {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets}
        book.close()
    except Exception as error:  # openpyxl raises many kinds for a damaged file
        raise InvalidInput(f"is a damaged workbook: {error}", where=where, remedy=SAVE_AS) from None
    filled = {name: rows for name, rows in sheets.items() if any(cell is not None for row in rows for cell in row)}
    if len(filled) > 1:
        problem = f"has several sheets with cells: {', '.join(filled)}; which one is the table?"
        raise InvalidInput(problem, where=where, remedy="save that sheet as CSV, or in a workbook of its own")
    return next(iter(filled.values()), [])


def _as_csv(rows: Sequence[Sequence[Any]]) -> str:
    """Rows of typed cells as text with one line for each, so that errors name the row of the sheet."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    for row in rows:
        writer.writerow([_cell(cell) for cell in row])
    return text.getvalue()


def _cell(cell: Any) -> str:
    if isinstance(cell, float):
        return repr(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    return "" if cell is None else " ".join(str(cell).split())
