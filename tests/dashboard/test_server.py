"""`allweather dashboard` as a person starts it: in a process of its own."""

import os
import re
import shlex
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
from tests.warm import Program
from typer.testing import CliRunner

from allweather.cli import app
from allweather.dashboard import ServerConfig, create_app, serve
from allweather.errors import InvalidInput
from allweather.storage import Database, names

TOKEN = "a-token-of-many-characters"


@pytest.fixture
def started(kiosk, tmp_path):
    """Starts the command on a free port; its process and its address."""
    running = []

    def start(*words, **environment):
        command = ["-m", "allweather.cli", "dashboard", "--storage", kiosk, "--port", "0", *words]
        process = Program(command, cwd=tmp_path, env={**os.environ, **environment})
        running.append(process)
        address = re.search(r"http://[^\s\"]+", process.stdout.readline()).group(0)
        return process, address

    yield start
    for process in running:
        process.end()


def test_it_answers_here_and_ends_when_told(started):
    process, address = started("--json")
    assert address.startswith("http://127.0.0.1:")
    assert "kiosk" in httpx.get(address).text
    process.send_signal(signal.SIGTERM)
    assert process.wait(15) == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)


def test_elsewhere_it_wants_the_token_and_ends_with_ctrl_c(started):
    process, address = started("--host", "0.0.0.0", ALLWEATHER_TOKEN=TOKEN)
    local = address.replace("0.0.0.0", "127.0.0.1") + "api/v1/studies"
    assert httpx.get(local).status_code == 401
    assert httpx.get(local, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    process.send_signal(signal.SIGINT)
    assert process.wait(15) == 0


def refused(*words, code=2):
    ended = CliRunner().invoke(app, ["dashboard", *words])
    assert ended.exit_code == code, ended.output
    assert "Traceback" not in ended.output
    return " ".join(ended.output.split())


def test_a_signal_while_it_starts_ends_it(kiosk, monkeypatch):
    make, ready = create_app, []

    def told_to_end(*given):
        signal.raise_signal(signal.SIGTERM)
        return make(*given)

    monkeypatch.setattr("allweather.dashboard.app.create_app", told_to_end)
    late = threading.Timer(20, lambda: signal.raise_signal(signal.SIGTERM))  # so that it fails instead of hanging
    late.start()
    serve(kiosk, ServerConfig(port=0), ready.append)
    late.cancel()
    assert ready == []


def test_in_an_empty_folder_the_database_is_made(tmp_path, monkeypatch):
    monkeypatch.delenv("ALLWEATHER_STORAGE", raising=False)
    monkeypatch.chdir(tmp_path)
    served = []
    monkeypatch.setattr("allweather.dashboard.serve", lambda url, *_: served.append(names(Database(url))))
    assert CliRunner().invoke(app, ["dashboard"]).exit_code == 0
    assert served == [[]]


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX systems")
def test_files_that_all_users_may_read_are_named(kiosk, tmp_path, monkeypatch):
    monkeypatch.delenv("ALLWEATHER_TOKEN", raising=False)
    monkeypatch.setattr("allweather.dashboard.serve", lambda *_: False)
    tokens, database = tmp_path / "my tokens.toml", Path(kiosk.removeprefix("sqlite:///"))
    tokens.write_text(f'ada = {{ token = "{TOKEN}" }}\n')

    def warned(*words):
        ended = CliRunner().invoke(app, ["dashboard", "--storage", kiosk, *words])
        assert ended.exit_code == 0
        return ended.stderr

    for file in (tokens, database):
        file.chmod(0o644)
    assert warned() == ""
    found = warned("--tokens", str(tokens)).splitlines()
    assert all(
        f"chmod o-rwx {shlex.quote(str(file))}" in line for file, line in zip((tokens, database), found, strict=True)
    )
    assert TOKEN not in "".join(found)
    for file in (tokens, database):
        file.chmod(0o640)
    assert warned("--tokens", str(tokens)) == ""


def test_what_it_refuses_to_start_with(kiosk, tmp_path, monkeypatch):
    monkeypatch.delenv("ALLWEATHER_TOKEN", raising=False)
    assert "secrets.token_urlsafe" in refused("--storage", kiosk, "--host", "0.0.0.0")
    assert "at least 16" in refused("--storage", kiosk, "--token", "short")
    assert "there is no database" in refused("--storage", f"sqlite:///{tmp_path}/nothing.db", code=3)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = refused("--storage", kiosk, "--port", str(taken.getsockname()[1]))
    assert "another port with --port" in said
    assert "cannot listen" in refused("--storage", kiosk, "--host", "203.0.113.7", "--token", TOKEN)


def test_without_fastapi_it_says_what_to_install(kiosk, monkeypatch):
    for name in [each for each in sys.modules if each.startswith("allweather.dashboard")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    assert "the dashboard needs FastAPI; install it with `pip install " in refused("--storage", kiosk)


def test_a_long_computation_does_not_keep_it_from_ending(started):
    process, address = started()
    with httpx.Client(base_url=address) as client, socket.create_connection(_place(address)) as waiting:
        assert client.post("/api/v1/studies/kiosk/trials", json={"rows": ROWS}).status_code == 201
        waiting.sendall(b"GET /api/v1/studies/kiosk/recommendation HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert client.get("/studies/kiosk").status_code == 200  # while the other waits
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
        assert waiting.recv(1000).startswith(b"HTTP/1.1 503")
    assert process.stderr.read() == ""


ROWS = [{"order": (37.7 * n) % 100, "demand": 45 + n % 9, "value": float(n % 7)} for n in range(3000)]


def _place(address):
    return "127.0.0.1", int(address.rstrip("/").rpartition(":")[2])


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_in_order_while_something_is_computed_that_takes_long(started, told):
    process, address = started()
    with httpx.Client(base_url=address) as client, socket.create_connection(_place(address)) as waiting:
        client.post("/api/v1/studies/kiosk/trials", json={"rows": ROWS[:200]})
        query = b"objective=dro&distance=wasserstein&radius=0.03"
        waiting.sendall(b"GET /api/v1/studies/kiosk/figures/profile?" + query + b" HTTP/1.1\r\nhost: localhost\r\n\r\n")
        time.sleep(2.5)
        process.send_signal(told)
        assert process.wait(15) == 0
    assert process.stderr.read() == ""


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "kiosk.example"])
def test_elsewhere_than_here_a_token_is_needed(host):
    with pytest.raises(InvalidInput, match="needs --token"):
        ServerConfig(host=host)
    assert ServerConfig(host=host, token=TOKEN).token == TOKEN


@pytest.mark.parametrize("token", ["short", "", "with spaces in it, and long", "tökentökentökentöken"])
def test_tokens_that_are_none(token):
    with pytest.raises(InvalidInput, match="at least 16") as mistake:
        ServerConfig(token=token)
    assert not token or token not in str(mistake.value)


@pytest.mark.parametrize(
    ("config", "host", "known"),
    [
        (ServerConfig(), "127.0.0.1:8080", True),
        (ServerConfig(), "localhost", True),
        (ServerConfig(), "LOCALHOST.:1", True),
        (ServerConfig(), "[::1]:8080", True),
        (ServerConfig(), "kiosk.example", False),
        (ServerConfig(), "", False),
        (ServerConfig(), "127.0.0.1.evil.example", False),
        (ServerConfig(), "192.168.1.7", False),
        (ServerConfig(host="192.168.1.7", token=TOKEN), "192.168.1.7:8080", True),
        (ServerConfig(host="0.0.0.0", token=TOKEN), "192.168.1.7:8080", True),
        (ServerConfig(host="0.0.0.0", token=TOKEN), "kiosk.example", False),
        (ServerConfig(host="0.0.0.0", token=TOKEN, names=("Kiosk.example",)), "kiosk.example:80", True),
        (ServerConfig(host="::", token=TOKEN), "[fe80::1]:8080", True),
    ],
)
def test_names_it_answers_to(config, host, known):
    assert config.accepts_host(host) is known
