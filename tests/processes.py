"""Processes that tests start: whatever a test does, none outlives it."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


def restore_interrupt():
    """Let child processes receive Ctrl-C, also where this process was started with SIGINT ignored.

    A shell starts background jobs that way, and an ignored signal stays ignored in every process that a job starts.
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def running(command, **options) -> Iterator[subprocess.Popen]:
    """Start a program with pipes for its output in a session of its own; on leaving, end it and all it started."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, **{**pipes, **options}, start_new_session=True)
    try:
        yield process
    finally:
        end(process)


def end(process):
    """Kill the group of a process that `running` or `start_new_session` started, and close its pipes."""
    kill_group(process.pid)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def kill_group(leader):
    """Kill a process group, if it still exists."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


@contextmanager
def watched(started):
    """Record in `started` every process that the block starts; on leaving, end those that still run."""
    begin = subprocess.Popen.__init__

    def recorded(self, *arguments, **options):
        begin(self, *arguments, **options)
        started.append(self)

    subprocess.Popen.__init__ = recorded
    try:
        yield started
    finally:
        subprocess.Popen.__init__ = begin
        for process in started:
            if process.poll() is None:
                children = descendants(process.pid)
                process.kill()  # first: a parent that waits for a child would end by itself
                process.wait()
                for child in children:
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(child, signal.SIGKILL)


def descendants(process):
    """Numbers of the processes that one has started, theirs included."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(line.split()[0]): int(line.split()[1]) for line in listed.splitlines()}
    found, fresh = set(), {process}
    while fresh:
        fresh = {child for child, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found
