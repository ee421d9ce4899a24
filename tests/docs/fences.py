"""Code blocks of the documentation, and how their output is compared with what is printed there."""

from __future__ import annotations

import re
from pathlib import Path
from types import CodeType
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(r"^(`{3,}|~{3,}|:{3,})(.*)$")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


class Block(NamedTuple):
    """A fenced block of a page."""

    page: Path
    line: int
    """Of its first fence, counted from 1."""
    kind: str
    """What stands behind the fence: a language, or a directive in braces."""
    argument: str
    options: dict[str, str]
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(DOCS)}:{self.line} ```{self.kind}"


def pages() -> list[Path]:
    """All pages, without those that a build left behind."""
    return sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found, lines = [], page.read_text().splitlines()
    at = 0
    while at < len(lines):
        opened = FENCE.match(lines[at])
        if opened is None:
            at += 1
            continue
        start, fence = at, opened.group(1)
        closing = next(n for n in range(at + 1, len(lines)) if lines[n].rstrip() == fence)
        kind, _, argument = opened.group(2).strip().partition(" ")
        inside, options = lines[start + 1 : closing], {}
        while kind.startswith("{") and inside and (option := re.match(r"^:([\w-]+):\s*(.*)$", inside[0])):
            options[option.group(1)] = option.group(2)
            inside = inside[1:]
        found.append(Block(page, start + 1, kind, argument, options, "".join(f"{line}\n" for line in inside)))
        at = closing + 1
    return found


def program(page: Path) -> CodeType:
    """The blocks of a page that are no doctests, as one program."""
    plain = [each.text for each in blocks(page) if each.kind == "python" and not each.text.startswith(">>> ")]
    return compile("".join(plain), page.name, "exec")


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what it answers."""
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)


def alike(said: str, printed: str, tolerance: float = 0.02) -> bool:
    """Whether two texts are the same but for small differences of numbers, as other machines have them."""
    words = [" ".join(NUMBER.sub("#", text).split()) for text in (said, printed)]
    numbers = [[float(each) for each in NUMBER.findall(text)] for text in (said, printed)]
    return words[0] == words[1] and all(
        abs(one - other) <= tolerance * max(abs(one), abs(other), 0.1) for one, other in zip(*numbers, strict=True)
    )
