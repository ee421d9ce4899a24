"""What a form of ours says, checked to be ours, as values of a study's variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import Request

from allweather._utils.formatting import numbers
from allweather.dashboard.problems import Refused, Unreadable
from allweather.errors import InvalidInput, require
from allweather.space.text import value
from allweather.space.variables import Value, Variable

STALE = "this form was not written for your session: reload the page, and send it again"


@dataclass(frozen=True)
class Posted:
    """The fields of a form, as they were typed."""

    fields: Mapping[str, str]

    def row(self, half: str, variables: Mapping[str, Variable]) -> dict[str, Value] | None:
        """What was typed about some variables; None where nothing was.

        Args:
            half: `context` or `decision`, with which the fields' names begin.
            variables: those that may be told.
        """
        typed = {name: self.fields.get(f"{half}:{name}", "").strip() for name in variables}
        found = {name: value(text, variables[name], f"{half} {name}") for name, text in typed.items() if text}
        return found or None

    def outcomes(self) -> list[float] | None:
        """The outcomes, of which several are parted by spaces, also after commas; None where none was typed.

        Example:
            >>> Posted({"values": "1.5, 2"}).outcomes()
            [1.5, 2.0]
            >>> Posted({"values": "1,5"}).outcomes()
            Traceback (most recent call last):
            allweather.errors.InvalidInput: `outcome` must be written with a point, such as 42.5 (several with spaces
            between them), got '1,5'
        """
        typed = re.sub(r"[,;](?=\s|$)|;", " ", self.fields.get("values", ""))
        fits = re.search(r"\d,\d", typed) is None
        require(fits, "outcome", "be written with a point, such as 42.5 (several with spaces between them)", typed)
        return numbers(typed.split(), "outcome")

    def ticked(self, name: str) -> bool:
        """Whether a box was ticked."""
        return bool(self.fields.get(name))


async def from_our_form(request: Request) -> Posted:
    """The form that was posted; one that our own page did not write for this session is refused."""
    fields = await fields_of(request, 1000)
    session = request.state.session
    if session is None or not request.app.state.sessions.wrote(session, fields.pop("form_token", "")):
        raise Refused(STALE)
    if any(len(text) > 20_000 for text in fields.values()):
        raise InvalidInput("a field of the form is too long")
    return Posted(fields)


async def fields_of(request: Request, most: int) -> dict[str, str]:
    """The fields of a form, of which there are so many at most; letters that are none are refused."""
    try:
        given = await request.form(max_files=0, max_fields=most)
        fields = {name: text for name, text in given.items() if isinstance(text, str)}
        "".join([*fields, *fields.values()]).encode()
    except UnicodeError:  # in the alphabet that the request names
        raise Unreadable("the form must be written in UTF-8, got letters that cannot be read") from None
    return fields
