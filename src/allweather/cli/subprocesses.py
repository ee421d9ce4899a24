"""Run a user's command for one trial: the decision on standard input, the outcome on standard output."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from allweather._utils.formatting import clean
from allweather.errors import InvalidInput, require
from allweather.study.worker_pool import Answer, NotCarriedOut, read_answer
from allweather.trials import Trial

MAX_KEPT_OUTPUT = 64_000
"""Bytes at the end of a command's output that are read."""
NOT_FOUND = (126, 127, 9009)
"""Exit codes of a shell that found no such command; the last is that of Windows."""
CHILD = """
import importlib, inspect, json, sys
module, _, name = sys.argv[1].partition(":")
function = getattr(importlib.import_module(module), name)
if len(sys.argv) == 2:
    given = json.load(sys.stdin)
    try:
        needed = [each for each in inspect.signature(function).parameters.values() if each.default is each.empty]
    except (TypeError, ValueError):
        needed = []
    found = function(*[given["decision"], given["context"]][: max(1, min(len(needed), 2))])
    print("\\n" + json.dumps(found, default=lambda value: value.tolist()))
"""
"""Calls a Python function in a process of its own, so that it can be stopped like a command."""


@dataclass(frozen=True, eq=False)
class TrialCommand:
    """A command that is run for every trial, with a timeout and retries."""

    command: str | list[str]
    """A command line for the shell, or a list of arguments."""
    timeout: float | None = None
    """Seconds per attempt."""
    retries: int = 0
    """Further attempts after one that failed."""
    outcomes: tuple[str, ...] = ()
    """The names of the study's outcomes, where it has several."""
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _stopped: threading.Event = field(default_factory=threading.Event, repr=False)

    @classmethod
    def function(
        cls, name: str, timeout: float | None = None, retries: int = 0, outcomes: tuple[str, ...] = ()
    ) -> TrialCommand:
        """Return the command that calls a Python function.

        Args:
            name: `module:name` of a function that takes a decision, and perhaps a context; it must be importable.
            timeout: seconds per attempt.
            retries: further attempts after one that failed.
            outcomes: the names of the study's outcomes, where it has several.
        """
        matches = re.fullmatch(r"\w+(\.\w+)*:\w+", name) is not None
        require(matches, "--function", "be module:name", name)
        arguments = [sys.executable, "-c", CHILD, name]
        checked = subprocess.run([*arguments, "check"], capture_output=True, text=True, check=False)
        if checked.returncode:
            raise InvalidInput(f"cannot be imported: {_last_line(checked.stderr)}", where=f"--function {name}")
        return cls(arguments, timeout, retries, outcomes)

    def __call__(self, trial: Trial, study: str) -> Answer:
        """Run the command for a trial, again after a failure if retries are left.

        Args:
            trial: the trial to carry out.
            study: name of the study, for the command's input and environment.
        """
        result = Answer(None)
        for _ in range(self.retries + 1):
            result = self._attempt(trial, study)
            if result.told is not None or self._stopped.is_set():
                break
        return result

    def stop(self) -> None:
        """Kill all running processes; nothing is retried."""
        self._stopped.set()
        with self._lock:
            for process in self._running:
                _kill(process)

    def _attempt(self, trial: Trial, study: str) -> Answer:
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            process = self._start(trial, study, output, errors)
            try:
                process.communicate(_input(trial, study), self.timeout)
            except subprocess.TimeoutExpired:
                return Answer(None, f"took longer than {self.timeout:g} s")
            finally:
                _kill(process)
                process.wait()
                with self._lock:
                    self._running.discard(process)
            if process.returncode in NOT_FOUND and isinstance(self.command, str):
                problem = f"the command cannot be run: {_last_line(_tail(errors))}"
                raise NotCarriedOut(problem, remedy="`run --pending` carries out pending trials first")
            if process.returncode:
                return Answer(None, f"exit code {process.returncode}: {_last_line(_tail(errors))}")
            return parse_answer(_last_line(_tail(output)), self.outcomes)

    def _start(self, trial: Trial, study: str, output: IO[bytes], errors: IO[bytes]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            self.command,
            shell=isinstance(self.command, str),  # nosec B602
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
        return process


def parse_answer(line: str, outcomes: Sequence[str] = ()) -> Answer:
    """Parse the last line of a command's output: a number, outcomes by name, or the arguments of `tell` as JSON.

    Args:
        line: the last line.
        outcomes: the names of several outcomes; empty where there is one.

    Example:
        >>> parse_answer('{"value": 3.5, "context": {"demand": 31}}').told
        {'value': 3.5, 'context': {'demand': 31}}
        >>> parse_answer("done").failure
        'the last line of the output is not JSON: done'
    """
    try:
        found = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return Answer(None, f"the last line of the output is not JSON: {clean(line[:100])}")
    return read_answer(found, outcomes, "the command's output")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a valid outcome")


def environment(trial: Trial, study: str) -> dict[str, str]:
    """Return environment variables for a command: `AW_order=0.3` and so on.

    Args:
        trial: its decision, and its context where that is known, become variables with the prefix `AW_`.
        study: name of the study.
    """
    names = {"ALLWEATHER_STUDY": study, "ALLWEATHER_TRIAL": str(trial.number)}
    for name, value in {**(trial.context or trial.partial or {}), **trial.decision}.items():
        safe = re.sub(r"[^0-9A-Za-z_]", "_", name)
        names[f"AW_{safe}"] = value if isinstance(value, str) else json.dumps(value)
    return names


def _input(trial: Trial, study: str) -> bytes:
    given: dict[str, Any] = {"study": study, "trial": trial.number, "decision": dict(trial.decision)}
    given["context"] = trial.context if trial.partial is None else trial.partial
    paid = {} if trial.cost is None else {"left": list(trial.left), "cost": trial.cost}
    return json.dumps({**given, **paid}).encode()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children."""
    if sys.platform == "win32":  # no process groups: the tool of the system ends the tree
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)  # nosec B607
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - MAX_KEPT_OUTPUT))
    return file.read().decode(errors="replace")


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return clean(lines[-1].strip()) if lines else ""
