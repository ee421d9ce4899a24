import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from allweather import AllweatherError, InvalidInput
from allweather.problems import load
from allweather.problems.data import CHECKSUMS


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Serves a directory as the address of the data; the cache is a fresh one."""
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv("ALLWEATHER_DATA")
    cache = tmp_path / "cache"
    monkeypatch.setattr(pooch, "os_cache", lambda project: cache / project)
    servers = []

    def start(directory):
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(directory)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        monkeypatch.setenv("ALLWEATHER_DATA_URL", f"http://127.0.0.1:{server.server_port}/")
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("file", sorted(CHECKSUMS))
def test_every_file_loads(file):
    arrays = load(file)
    assert all(isinstance(array, np.ndarray) and array.dtype.kind in "fiU" for array in arrays.values())


def test_neither_directory_nor_address(monkeypatch):
    monkeypatch.delenv("ALLWEATHER_DATA")
    with pytest.raises(InvalidInput, match=r"wind\.npz is missing; set ALLWEATHER_DATA .* or ALLWEATHER_DATA_URL"):
        load("wind")


def test_a_directory_without_the_file(monkeypatch, tmp_path):
    monkeypatch.setenv("ALLWEATHER_DATA", str(tmp_path))
    with pytest.raises(InvalidInput, match=r"wind\.npz is missing in .* ALLWEATHER_DATA"):
        load("wind")


def test_a_directory_with_another_file(monkeypatch, tmp_path):
    (tmp_path / "wind.npz").write_bytes(b"something else")
    monkeypatch.setenv("ALLWEATHER_DATA", str(tmp_path))
    with pytest.raises(AllweatherError, match="has the wrong content"):
        load("wind")
    np.savez(tmp_path / "wind.npz", reference=np.ones(50))
    monkeypatch.setenv("ALLWEATHER_DATA_UNCHECKED", "1")
    assert load("wind")["reference"].sum() == 50  # computed again by whoever has the source


def test_a_download_is_kept(data, serve, monkeypatch):
    server = serve(data)
    first = load("plant_ph_nh3")
    server.shutdown()
    monkeypatch.setenv("ALLWEATHER_DATA_URL", "http://127.0.0.1:9/")
    assert np.array_equal(load("plant_ph_nh3")["centers"], first["centers"])


def test_a_download_with_other_content(serve, tmp_path):
    (tmp_path / "wind.npz").write_bytes(b"something else")
    serve(tmp_path)
    with pytest.raises(AllweatherError, match=r"wind\.npz could not be downloaded from .*hash"):
        load("wind")


def test_a_download_that_is_not_there(serve, tmp_path):
    serve(tmp_path)
    with pytest.raises(AllweatherError, match=r"404.*set ALLWEATHER_DATA to a directory"):
        load("wind")
