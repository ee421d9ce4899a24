"""Programs that begin at once: forks of an interpreter that has imported torch and the library.

A fresh interpreter spends seconds on these imports. What a test starts here is a process of its own all the same, with
its own signals, output and exit code.
"""

import multiprocessing
import os
import runpy
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.warm_imports"])


class Program:
    """A running program: as much of `subprocess.Popen` as tests need."""

    def __init__(self, words, cwd=None, env=None, quiet=True):
        """Start `python WORDS`: a file, or `-m` and a module.

        Args:
            words: what stands behind `python`.
            cwd: the folder it runs in; by default this one.
            env: its whole environment; by default this one.
            quiet: whether its errors are read through `stderr`, instead of shown.
        """
        (out, out_there), (err, err_there) = FORKS.Pipe(duplex=False), FORKS.Pipe(duplex=False)
        place, settings = str(cwd or Path.cwd()), dict(os.environ if env is None else env)
        given = list(map(str, words)), place, settings, out_there, err_there if quiet else None
        self._process = FORKS.Process(target=_become, args=given, daemon=True)
        self._process.start()
        out_there.close()
        err_there.close()
        self.stdout, self.stderr = _text(out), _text(err)
        self.pid = self._process.pid

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout=None):
        self._process.join(timeout)
        assert self._process.exitcode is not None, f"still running after {timeout} s"
        return self._process.exitcode

    def communicate(self, timeout=None):
        with self.stdout as out, self.stderr as err:
            said = out.read(), err.read()
        self.wait(timeout)
        return said

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        if self._process.exitcode is None:
            self.send_signal(signal.SIGKILL)

    def end(self):
        """Kill it if it still runs, and close its pipes."""
        self.kill()
        self.wait()
        self.stdout.close()
        self.stderr.close()


@contextmanager
def program(*words, **options):
    """A program that ends with the block."""
    started = Program(words, **options)
    try:
        yield started
    finally:
        started.end()


def _text(connection):
    return os.fdopen(os.dup(connection.fileno()), encoding="utf-8")


def _become(words, cwd, env, out, err):
    """In the fork: run the program as a fresh interpreter would."""
    import torch

    torch.set_num_threads(1)
    os.dup2(out.fileno(), 1)
    if err is not None:
        os.dup2(err.fileno(), 2)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))  # noqa: PTH100, PTH120  as the interpreter does
        runpy.run_path(words[0], run_name="__main__")
