"""One trial carried out by a user's command: decision in, outcome out."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

from allweather._utils.formatting import clean
from allweather._utils.registry import unknown
from allweather.errors import InvalidInput, is_number, require
from allweather.trials import Trial

TAIL = 64_000
"""Bytes of a command's output that are looked at, from the end."""
ANSWERS = ("value", "context", "decision", "failed")
NOT_FOUND = (126, 127)
"""A shell's exit codes for what is no command."""
CHILD = """
import importlib, json, sys
module, _, name = sys.argv[1].partition(":")
function = getattr(importlib.import_module(module), name)
if len(sys.argv) == 2:
    found = function(json.load(sys.stdin)["decision"])
    print("\\n" + json.dumps(found, default=lambda value: value.tolist()))
"""
"""Calls a Python function as if it were a command, so that it too can be stopped."""


class Answer(NamedTuple):
    """What came of a trial."""

    found: dict[str, Any] | None
    """What to tell; None if every attempt failed."""
    trouble: str = ""
    """Why the last attempt failed."""


class NoCommand(InvalidInput):
    """The command cannot be run at all: no trial is to blame."""


@dataclass(frozen=True, eq=False)
class Caller:
    """A command that is called for every trial."""

    command: str | list[str]
    """A line for the shell, or words."""
    timeout: float | None = None
    """Seconds that one attempt may take."""
    retries: int = 0
    """Further attempts after one that failed."""
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _stopped: threading.Event = field(default_factory=threading.Event, repr=False)

    @classmethod
    def function(cls, name: str, timeout: float | None = None, retries: int = 0) -> Caller:
        """A Python function `module:name` that takes a decision; it must be there."""
        fits = re.fullmatch(r"\w+(\.\w+)*:\w+", name) is not None
        require(fits, "--function", "be module:name", name)
        words = [sys.executable, "-c", CHILD, name]
        checked = subprocess.run([*words, "check"], capture_output=True, text=True, check=False)
        if checked.returncode:
            raise InvalidInput(f"`--function` {name} cannot be imported: {_last_line(checked.stderr)}")
        return cls(words, timeout, retries)

    def __call__(self, trial: Trial, study: str) -> Answer:
        """What came of a trial, after as many attempts as it takes and may."""
        answer = Answer(None)
        for _ in range(self.retries + 1):
            answer = self._attempt(trial, study)
            if answer.found is not None or self._stopped.is_set():
                break
        return answer

    def stop(self) -> None:
        """End all that runs; there are no further attempts."""
        self._stopped.set()
        with self._lock:
            for process in self._running:
                _kill(process)

    def _attempt(self, trial: Trial, study: str) -> Answer:
        asked = {"study": study, "trial": trial.number, "decision": dict(trial.decision), "context": trial.context}
        paid = {} if trial.cost is None else {"left": list(trial.left), "cost": trial.cost}
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                self.command,
                shell=isinstance(self.command, str),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=errors,
                env={**os.environ, **environment(trial, study)},
                start_new_session=True,
            )
            with self._lock:
                self._running.add(process)
                if self._stopped.is_set():
                    _kill(process)
            try:
                process.communicate(json.dumps({**asked, **paid}).encode(), self.timeout)
            except subprocess.TimeoutExpired:
                return Answer(None, f"took longer than {self.timeout:g} s")
            finally:
                _kill(process)
                process.wait()
                with self._lock:
                    self._running.discard(process)
            if process.returncode in NOT_FOUND and isinstance(self.command, str):
                raise NoCommand(f"the command cannot be run: {_last_line(_tail(errors))}")
            if process.returncode:
                return Answer(None, f"ended with {process.returncode}: {_last_line(_tail(errors))}")
            return read_answer(_last_line(_tail(output)))


def read_answer(line: str) -> Answer:
    """The last line of a command's output: a number, or JSON with a value and, if there is one, a context.

    Example:
        >>> read_answer('{"value": 3.5, "context": {"demand": 31}}').found
        {'value': 3.5, 'context': {'demand': 31}}
        >>> read_answer("done").trouble
        'said no JSON in its last line: done'
    """
    try:
        found = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return Answer(None, f"said no JSON in its last line: {clean(line[:100])}")
    if is_number(found):
        found = {"value": found}
    if not isinstance(found, dict):
        return Answer(None, f"said neither a number nor an object: {clean(line[:100])}")
    for key in found:
        if key not in ANSWERS:
            return Answer(None, str(unknown("the command's answer", key[:100], ANSWERS)))
    return Answer(found)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no outcome")


def environment(trial: Trial, study: str) -> dict[str, str]:
    """The decision as environment variables: `AW_order=0.3` and the like."""
    names = {"ALLWEATHER_STUDY": study, "ALLWEATHER_TRIAL": str(trial.number)}
    return names | {f"AW_{re.sub(r'[^0-9A-Za-z_]', '_', key)}": word for key, word in _words(trial.decision).items()}


def _words(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a command and all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL))
    return file.read().decode(errors="replace")


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return clean(lines[-1].strip()) if lines else ""
