"""How much of the package a call walks through, and how large it is: `python -m benchmarks walks`, `--record NAME`.

Every walk is done once to warm up, so that imports and caches of the process are not counted, and once with
`sys.setprofile`. Only the public interface is used, so that this file counts another version as well:
`PYTHONPATH=OTHER/src:. python -m benchmarks.walks --record before`.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import httpx
import sqlalchemy as sa
from rich.console import Console
from rich.table import Table
from typer.testing import CliRunner

import allweather as aw
from allweather.cli import app
from allweather.dashboard import create_app

PACKAGE = Path(aw.__file__).parent
RESULTS = Path(__file__).parent / "results" / "tables" / "walks.json"
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
TRIALS = 8
"""Told before anything is counted."""
HOST = "http://127.0.0.1"
SELECT_EVENTS = re.compile(r"SELECT\b(.*)\bFROM\s+events\b(.*)", re.DOTALL | re.IGNORECASE)


@dataclass
class Walk:
    """What one call visits."""

    files: int = 0
    functions: int = 0
    selects: int = 0
    """SELECTs on the journal's events."""
    readings: int = 0
    """Those that read what happened from the first event on, and not only what is new."""
    spaces: int = 0
    """Constructions of `Space`."""
    compositions: int = 0
    """Constructions of `Composition`."""


@dataclass
class Counting:
    """Counts calls of functions of the package, in all threads that are started while it exists."""

    active: bool = False
    visited: set[CodeType] = field(default_factory=set)
    calls: Counter[CodeType] = field(default_factory=Counter)
    selects: int = 0
    readings: int = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Take note of a call.

        Args:
            frame: of the function.
            event: what the interpreter does.
            _: its argument.
        """
        code = frame.f_code
        if self.active and event == "call" and code.co_flags & inspect.CO_OPTIMIZED:  # neither a module nor a class
            self.calls[code] += 1
            if code.co_filename.startswith(str(PACKAGE)):
                self.visited.add(code)

    def select(self, _connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        """Take note of an SQL statement.

        Args:
            statement: the statement.
            values: of its parameters.
        """
        found = SELECT_EVENTS.search(statement) if self.active else None
        if found is not None:
            whole = "number >" not in found[2] or 0 in tuple(values)
            self.selects += 1
            self.readings += "payload" in found[1] and whole and "events.trial =" not in found[2]

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count from here on, until the end of the block."""
        self.visited, self.calls, self.selects, self.readings = set(), Counter(), 0, 0
        self.active = True
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)
            self.active = False

    def walk(self) -> Walk:
        """What was visited."""
        files = {code.co_filename for code in self.visited}
        made = [self.calls[kind.__init__.__code__] for kind in (aw.Space, aw.Composition)]
        return Walk(len(files), len(self.visited), self.selects, self.readings, *made)


class Walker:
    """A stored study, and the calls that are counted: each returns what it does when called."""

    def __init__(self, folder: str) -> None:
        self.storage = f"sqlite:///{folder}/studies.db"
        space = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
        self.study = aw.Study(space, seed=7, initial=3, storage=self.storage, name="kiosk")
        self.trials = 0
        for _ in range(TRIALS):
            self._told()
        self.server = create_app(self.storage)

    def _told(self) -> None:
        trial = self.study.ask()
        demand = 0.2 + 0.05 * (self.trials % 8)
        self.trials += 1
        self.study.tell(trial, 9 * min(trial.decision["order"], demand), context={"demand": demand})

    def ask(self) -> Callable[[], object]:
        """`Study.ask`."""
        self._told()
        return self.study.ask

    def tell(self) -> Callable[[], object]:
        """`Study.tell`."""
        trial = self.study.ask()
        return lambda: self.study.tell(trial, 1.0, context={"demand": 0.3})

    def recommend(self) -> Callable[[], object]:
        """`Study.recommend`."""
        self._told()
        return self.study.recommend

    def load(self) -> Callable[[], object]:
        """`Study.load`."""
        self._told()
        return lambda: aw.Study.load(self.storage, "kiosk")

    def command_ask(self) -> Callable[[], object]:
        """`allweather ask`."""
        self._told()
        return lambda: self._command("ask")

    def command_tell(self) -> Callable[[], object]:
        """`allweather tell`."""
        number = str(self.study.ask().number)
        return lambda: self._command("tell", number, "1.0", "--context", "demand=0.3")

    def command_recommend(self) -> Callable[[], object]:
        """`allweather recommend`."""
        self._told()
        return lambda: self._command("recommend")

    def post_ask(self) -> Callable[[], object]:
        """A POST of the REST API that asks."""
        self._told()
        return lambda: self._post("ask", {})

    def post_tell(self) -> Callable[[], object]:
        """A POST of the REST API that tells."""
        trial = self.study.ask()
        return lambda: self._post(f"trials/{trial.number}/tell", {"values": [1.0], "context": {"demand": 0.3}})

    def _command(self, *words: str) -> None:
        ended = CliRunner().invoke(app, list(words), env={"ALLWEATHER_STORAGE": self.storage})
        if ended.exit_code != 0:
            raise RuntimeError(ended.output) from ended.exception

    def _post(self, path: str, body: dict[str, Any]) -> None:
        async def post() -> None:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.server), base_url=HOST) as client:
                answer = await client.post(f"/api/v1/studies/kiosk/{path}", json=body)
            answer.raise_for_status()

        asyncio.run(post())


WALKS: dict[str, Callable[[Walker], Callable[[], object]]] = {
    "`Study.ask`": Walker.ask,
    "`Study.tell`": Walker.tell,
    "`Study.recommend`": Walker.recommend,
    "`Study.load`": Walker.load,
    "`allweather ask`": Walker.command_ask,
    "`allweather tell`": Walker.command_tell,
    "`allweather recommend`": Walker.command_recommend,
    "POST ask": Walker.post_ask,
    "POST tell": Walker.post_tell,
}


def walks(names: Sequence[str] = tuple(WALKS)) -> dict[str, Walk]:
    """Count what calls visit.

    Args:
        names: of the walks.
    """
    found = {}
    counting = Counting()
    threading.setprofile(counting)  # of the server's threads
    sa.event.listen(sa.Engine, "before_cursor_execute", counting.select)
    try:
        for name in names:
            with TemporaryDirectory() as folder:
                walker = Walker(folder)
                WALKS[name](walker)()
                action = WALKS[name](walker)
                with counting.counted():
                    action()
                found[name] = counting.walk()
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", counting.select)
        threading.setprofile(None)  # type: ignore[arg-type]
    return found


def sizes() -> dict[str, int]:
    """Count modules, lines, modules that one other imports, and the classes that `Study` inherits from."""
    texts = {path: path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    used: Counter[str] = Counter()
    for text in texts.values():
        used.update(set(re.findall(r"(?:from|import) (allweather[\w.]*)", text)))
    named = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in texts]
    alone = [name for name in named if used[name] == 1 and not name.endswith("__init__")]
    return {
        "modules": sum(path.name != "__init__.py" for path in texts),
        "lines": sum(text.count("\n") for text in texts.values()),
        "modules with one importer": len(alone),
        "longest chain of base classes of `Study`": _chain(aw.Study),
    }


def _chain(kind: type) -> int:
    return max((1 + _chain(base) for base in kind.__bases__ if base is not object), default=0)


def commit() -> str:
    """The commit of the package that is counted."""
    command = ["git", "-C", os.fspath(PACKAGE), "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def tables(stored: dict[str, Any]) -> dict[str, list[list[str]]]:
    """The tables of the page, by name: rows of cells, the first one headers.

    Args:
        stored: what was recorded, by column.
    """
    columns = list(stored)
    kinds = {"files": "files", "functions": "functions", "readings": "readings of the whole journal"}
    kinds |= {"selects": "SELECTs on its events"}
    kinds |= {"spaces": "`Space` made", "compositions": "`Composition` made"}
    each = [stored[column]["walks"] for column in columns]
    walked = [
        [name, *(" → ".join(str(found.get(name, {}).get(kind, "-")) for found in each) for kind in kinds)]
        for name in each[0]
    ]
    measures = stored[columns[0]]["sizes"]
    sized = [[name, *(str(stored[column]["sizes"].get(name, "-")) for column in columns)] for name in measures]
    commits = ["commit", *(stored[column]["commit"] for column in columns)]
    return {"walks": [["call", *kinds.values()], *walked], "sizes": [["", *columns], *sized, commits]}


def write_page(stored: dict[str, Any], page: Path = PAGE) -> None:
    """Write the tables into the page.

    Args:
        stored: what was recorded, by column.
        page: with places for them.
    """
    from benchmarks.evidence import filled, markdown

    page.write_text(filled(page.read_text(), {name: markdown(rows) for name, rows in tables(stored).items()}))


def main(arguments: Sequence[str] = ()) -> None:
    """Print the tables, and keep them where that was asked for.

    Args:
        arguments: of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks walks", description=__doc__)
    parser.add_argument("--record", metavar="NAME", help="keep the counts as a column, and write the page")
    given = parser.parse_args(arguments)
    counted = {name: asdict(walk) for name, walk in walks().items()}
    found = {"commit": commit(), "walks": counted, "sizes": sizes()}
    for rows in tables({given.record or "now": found}).values():
        table = Table(*rows[0])
        for row in rows[1:]:
            table.add_row(*row)
        Console(width=120).print(table)
    if given.record is not None:
        stored = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
        stored[given.record] = found
        RESULTS.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
        write_page(stored)


if __name__ == "__main__":
    main(sys.argv[1:])
