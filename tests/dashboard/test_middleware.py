import asyncio
import socket

import pytest

from allweather.dashboard.auth import GuessLimit, Sessions
from allweather.dashboard.middleware import SecurityMiddleware
from allweather.dashboard.server import ServerConfig

ROOT = "/api/v1/studies"


def test_other_sites_cannot_use_the_interface(server, client):
    evil = {"origin": "https://evil.example", "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}
    assert client.post(f"{ROOT}/kiosk/ask", json={}, headers=evil).status_code == 403
    assert client.delete(f"{ROOT}/kiosk/trials/0", headers=evil).status_code == 403
    assert client.get(f"{ROOT}/kiosk", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    framed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    assert client.get("/studies/kiosk", headers=framed).status_code == 403
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert client.get("/studies/kiosk", headers=link).status_code == 200
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        answer = client.post(f"{ROOT}/kiosk/ask", content=b"{}", headers={"content-type": kind})
        assert answer.status_code == 415
    assert "access-control-allow-origin" not in client.get(ROOT, headers={"origin": "https://evil.example"}).headers
    assert client.get(f"{ROOT}/kiosk").json()["trials"] == 12


def test_a_foreign_name_that_leads_here(server, client):
    for host in ("evil.example", f"evil.example:{server.port}", "kiosk"):
        for path in ("/", ROOT, "/static/htmx-2.0.11.min.js", "/login"):
            assert client.get(path, headers={"host": host}).status_code == 421
    with socket.create_connection(("127.0.0.1", server.port)) as bare:
        bare.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert b"421" in bare.recv(100)


def test_every_answer_is_dressed(client):
    for path in ("/", "/studies/kiosk", "/nothing", "/static/nothing", "/login", ROOT, f"{ROOT}/x", "/api/docs"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
    page = client.get("/studies/kiosk").text
    assert "http://" not in page
    assert "https://" not in page
    assert "<script>" not in page
    assert " onclick" not in page


@pytest.mark.parametrize("length", [True, False])
def test_a_body_that_is_too_large(client, length):
    part = b'{"rows": [' + b" " * 3_000_000
    content = part if length else iter([part[:1_500_000], part[1_500_000:]])
    answer = client.post(f"{ROOT}/kiosk/trials", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 413


def test_a_head_is_answered_like_a_page(client):
    answer = client.head("/")
    assert (answer.status_code, answer.content) == (200, b"")
    assert client.head("/studies/none").status_code == 404


@pytest.mark.parametrize("path", ["/", ROOT])
def test_a_request_that_the_end_of_the_server_cuts_off_is_answered(path):
    sent = []

    async def slow(scope, receive, send):
        await asyncio.sleep(60)

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    async def cut_off():
        guarded = SecurityMiddleware(slow, ServerConfig(), Sessions(), GuessLimit())
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "headers": [(b"host", b"localhost")],
            "query_string": b"",
        }
        request = asyncio.ensure_future(guarded(scope, receive, send))
        await asyncio.sleep(0.01)
        request.cancel("the server ends")
        await request

    asyncio.run(cut_off())
    headers = dict(sent[0]["headers"])
    assert sent[0]["status"] == 503
    assert headers[b"retry-after"] == b"5"
    assert b"content-security-policy" in headers
