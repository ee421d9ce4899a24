"""The page behind a reverse proxy with a path prefix, over HTTPS, and what it logs."""

import json
import logging
import re
import ssl
import threading
from contextlib import contextmanager
from html import unescape
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from tests.dashboard.served import fed, form_token, serving

from allweather._utils.logs import StderrHandler
from allweather.dashboard import ServerConfig, responses
from allweather.errors import InvalidInput

TOKEN = "a-token-of-many-characters"
PEM = Path(__file__).with_name("localhost.pem")
"""A certificate for 127.0.0.1 that signs itself, and its key."""
LINK = re.compile(r'(?:href|src|action|hx-get|hx-post|data-src)="([^"#][^"]*)"')

DEAR = re.compile("report|recommendation|policy|figures|(ask|tell|correct|withdraw|login|logout)$")
"""What takes long, or cannot be read."""


@contextmanager
def proxy(port, prefix, removes):
    """A reverse proxy that shows a server under a prefix, as if over HTTPS; yield its address."""

    class Forward(BaseHTTPRequestHandler):
        def forward(self):
            path = self.path.removeprefix(prefix) if removes else self.path
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            upstream = HTTPConnection("127.0.0.1", port, timeout=30)
            headers = dict(self.headers) | {"x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.7"}
            upstream.request(self.command, path, body, headers)
            answer = upstream.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            upstream.close()

        do_GET = do_POST = forward

        def log_message(self, *words):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Forward) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("removes", [True, False], ids=["prefix removed", "prefix kept"])
def test_behind_a_proxy_with_a_prefix(url, removes):
    fed(url, 3)
    config = {"token": TOKEN, "names": ("lab.example",), "prefix": "/lab"}
    with serving(url, **config) as server, proxy(server.port, "/lab", removes) as address:
        client = httpx.Client(base_url=address, headers={"host": "lab.example"}, timeout=30)
        with client:
            assert client.get("/lab/studies/kiosk").headers["location"] == "/lab/login?then=%2Fstudies%2Fkiosk"
            logged_in = client.post("/lab/login", data={"token": TOKEN, "then": "/studies/kiosk"})
            assert logged_in.headers["location"] == "/lab/studies/kiosk"
            cookie = logged_in.headers["set-cookie"]
            assert {"Path=/lab", "Secure", "HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
            client.headers["cookie"] = cookie.partition(";")[0]
            links = set()
            for page in ("/lab/", "/lab/studies/kiosk", "/lab/studies/kiosk/trials/1", "/lab/api/docs", "/lab/nothing"):
                found = client.get(page)
                assert found.status_code == (404 if page == "/lab/nothing" else 200)
                links |= {unescape(link) for link in LINK.findall(found.text)}
            assert len(links) > 15
            assert all(link.startswith("/lab/") for link in links)
            cheap = {link.partition("?")[0]: link for link in links if not DEAR.search(link)}
            assert {client.get(link).status_code for link in cheap.values()} <= {200, 204}
            token = form_token(client.get("/lab/studies/kiosk/trials/1").text)
            ours = {"origin": "https://lab.example", "sec-fetch-site": "same-origin"}
            correction = {"form_token": token, "values": "3"}
            posted = client.post("/lab/studies/kiosk/trials/1/correct", data=correction, headers=ours)
            assert (posted.status_code, posted.headers["location"][:12]) == (303, "/lab/studies")
            (listed,) = client.get("/lab/api/v1/studies").json()["studies"]
            assert client.get(listed["address"]).json()["name"] == "kiosk"
            assert client.get("/lab/api/openapi.json").json()["servers"] == [{"url": "/lab"}]
            out = client.post("/lab/logout", data={"form_token": token}, headers=ours)
            assert (out.headers["location"], "Path=/lab" in out.headers["set-cookie"]) == ("/lab/login", True)


def test_no_template_has_a_link_without_the_prefix():
    for template in (Path(responses.__file__).parent / "templates").glob("*.html"):
        assert not [link for link in LINK.findall(template.read_text()) if link.startswith("/")], template.name


@pytest.mark.parametrize("prefix", ["lab", "/lab/", "/", "/studies/x", "/api", "//evil.example", '/"', "/..", "/a b"])
def test_prefixes_that_are_none(prefix):
    with pytest.raises(InvalidInput, match="prefix"):
        ServerConfig(prefix=prefix)


def test_over_https(url):
    fed(url, 1)
    trusted = ssl.create_default_context(cafile=str(PEM))
    with serving(url, certificate=PEM, key=PEM) as server:
        with httpx.Client(base_url=f"https://127.0.0.1:{server.port}", verify=trusted) as client:
            answer = client.get("/studies/kiosk")
            assert answer.status_code == 200
            assert "; Secure" in answer.headers["set-cookie"]
        with pytest.raises(httpx.TransportError):
            httpx.get(server.address)
    assert ServerConfig(port=1, certificate=PEM, key=PEM).url == "https://127.0.0.1:1/"


def test_a_certificate_that_is_none(tmp_path):
    (tmp_path / "x.pem").write_text("nothing")
    with pytest.raises(InvalidInput, match="certificate"):
        ServerConfig(certificate=tmp_path / "x.pem", key=PEM)


@pytest.fixture
def quiet():
    """Take the handlers of the server's log away when the test ends."""
    loggers = [logging.getLogger(name) for name in ("allweather", "uvicorn.error", "asyncio")]
    before = loggers[0].level
    yield
    loggers[0].setLevel(before)
    for logger in loggers:
        for handler in [each for each in logger.handlers if isinstance(each, StderrHandler)]:
            logger.removeHandler(handler)


def test_a_line_for_every_request_without_secrets(url, quiet, capsys, monkeypatch):
    fed(url, 2)
    with serving(url, token=TOKEN, json_log=True) as server, server.client() as client:
        root = "/api/v1/studies/kiosk"
        client.headers["x-request-id"] = "mine-1"
        assert client.get(f"{root}/trials?token=hidden-secret").headers["x-request-id"] == "mine-1"
        client.headers["x-request-id"] = "not an id\x07"
        assert re.fullmatch("[0-9a-f]{16}", client.get("/health").headers["x-request-id"])
        client.post("/login", data={"token": TOKEN})
        for _ in range(30):
            client.get("/api/v1/studies/nothing")
        monkeypatch.setattr(server.app.state.studies, "page", lambda limit, offset: 1 / 0)
        failed = client.get("/api/v1/studies").headers["x-request-id"]
    written = capsys.readouterr().err
    lines = [json.loads(line) for line in written.splitlines()]
    first = next(line for line in lines if line.get("request") == "mine-1")
    expected = {"route": "/api/v1/studies/{name}/trials", "path": f"{root}/trials", "status": 200, "method": "GET"}
    assert expected.items() <= first.items()
    assert first["milliseconds"] > 0
    assert sum(line.get("status") == 404 for line in lines) == 10
    assert not any(line.get("path") == "/health" for line in lines)
    (trace,) = [line for line in lines if "traceback" in line]
    assert (trace["request"], "ZeroDivisionError" in trace["traceback"]) == (failed, True)
    assert not any(secret in written for secret in (TOKEN, "hidden-secret", "Bearer", "allweather-"))


def test_the_name_of_a_token_is_in_the_line(url, quiet, capsys):
    from allweather.dashboard.auth import User

    fed(url, 1)
    with serving(url, users=(User("ada", TOKEN),), json_log=True) as server, server.client() as client:
        client.get("/api/v1/studies", headers={"authorization": f"Bearer {TOKEN}"})
        client.get("/api/v1/studies")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["status"], line["token"]) for line in lines if "status" in line] == [(200, "ada"), (401, None)]
