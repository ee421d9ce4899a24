"""A study to take away: its journal, its table, its report."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from fastapi import Request
from fastapi.responses import Response, StreamingResponse

from allweather._utils.formatting import tame
from allweather.dashboard.addresses import file_name
from allweather.dashboard.choice import Choice
from allweather.dashboard.shelf import Opened
from allweather.plots.report import report_html
from allweather.storage import export_lines

LINES = 500
"""Sent at a time."""


def journal_of(opened: Opened) -> Response:
    """The whole study as JSON lines."""
    parts = _parts(export_lines(opened.journal))
    first = next(parts)  # what is wrong with the database is said before the answer begins
    named = {"content-disposition": file_name(opened.name, "jsonl")}
    return StreamingResponse(chain([first], parts), headers=named, media_type="application/jsonl")


def table_of(opened: Opened) -> Response:
    """The trials as a table; text that a spreadsheet would compute is marked as text."""
    table = opened.history.table().map(tame).rename(columns=tame)
    named = {"content-disposition": file_name(opened.name, "csv")}
    return Response(table.to_csv(), headers=named, media_type="text/csv; charset=utf-8")


async def report_of(opened: Opened, choice: Choice, reader: Request) -> Response:
    """The report for an objective: a page of its own, which a browser saves and never opens as one of ours."""
    text = await opened.drawn(lambda study: report_html(study, choice.part()), reader)
    named = {"content-disposition": file_name(opened.name, "html"), "content-security-policy": "sandbox"}
    return Response(text, headers=named, media_type="text/html; charset=utf-8")


def _parts(lines: Iterator[str]) -> Iterator[str]:
    while part := list(islice(lines, LINES)):
        yield "".join(f"{line}\n" for line in part)
