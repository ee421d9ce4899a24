import asyncio
import json
import re

import httpx
import pytest
from tests.dashboard.served import fed, form_token, serving

from allweather.cli.dashboard import _users
from allweather.dashboard import ServerConfig
from allweather.dashboard.auth import MAX_WAITING_GUESSES, GuessLimit, check_token
from allweather.errors import InvalidInput
from allweather.storage import Database, Journal
from allweather.storage.export import import_lines
from allweather.study import StudyLog

TOKEN = "a-token-of-many-characters"
ROOT = "/api/v1/studies"


@pytest.fixture
def guarded(kiosk):
    with serving(kiosk, host="0.0.0.0", token=TOKEN, names=("kiosk.example",)) as server:
        server.app.state.guess_limit.seconds = 0.2
        yield server


@pytest.fixture
def stranger(guarded):
    with httpx.Client(base_url=guarded.address, timeout=30) as client:
        yield client


def log_in(client):
    answer = client.post("/login", data={"token": TOKEN, "then": "/studies/kiosk"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/studies/kiosk"
    return answer.headers["set-cookie"]


def test_without_the_token_nothing_is_told(stranger):
    for path in (ROOT, f"{ROOT}/kiosk", f"{ROOT}/kiosk/journal", "/api/openapi.json", "/api/docs"):
        answer = stranger.get(path)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "order" not in answer.text
    for path in ("/", "/studies/kiosk", "/studies/kiosk/journal.jsonl", "/nothing"):
        answer = stranger.get(path)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login?then=")
    assert stranger.post(f"{ROOT}/kiosk/ask", json={}).status_code == 401
    assert stranger.post("/studies/kiosk/ask", data={}).status_code == 401
    assert stranger.get("/", headers={"hx-request": "true"}).headers["hx-redirect"] == "/login"
    assert stranger.get("/static/htmx-2.0.11.min.js").status_code == 200
    assert stranger.get("/login").status_code == 200


def test_with_the_token_programs_come_in(guarded):
    with guarded.client() as client:
        assert client.post(f"{ROOT}/kiosk/ask", json={}).status_code == 201
        assert client.get("/api/openapi.json").json()["security"] == [{"token": []}]
        assert client.get(ROOT, headers={"host": "kiosk.example"}).status_code == 200


def test_a_wrong_token_waits_and_many_are_turned_away(guarded, stranger, monkeypatch):
    limit, waited = guarded.app.state.guess_limit, []
    wait = limit.wait

    async def recorded():
        waited.append(await wait())
        return waited[-1]

    monkeypatch.setattr(limit, "wait", recorded)
    wrong = {"authorization": f"Bearer {TOKEN}x"}
    assert stranger.get(ROOT, headers=wrong).status_code == 401
    assert stranger.post("/login", data={"token": "wrong"}).status_code == 401
    assert waited == [True, True]
    guarded.app.state.guess_limit.waiting = MAX_WAITING_GUESSES
    assert stranger.get(ROOT, headers=wrong).status_code == 429
    assert stranger.post("/login", data={"token": "wrong"}).status_code == 429
    with guarded.client() as program:
        assert program.get(ROOT).status_code == 200


def test_people_log_in_and_out(stranger):
    cookie = log_in(stranger)
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    page = stranger.get("/studies/kiosk").text
    assert "Log out" in page
    assert stranger.get(f"{ROOT}/kiosk").status_code == 200
    kept = dict(stranger.cookies)
    assert stranger.post("/logout", data={"form_token": form_token(page)}).headers["location"] == "/login"
    stranger.cookies.update(kept)
    assert stranger.get("/studies/kiosk").status_code == 303
    assert stranger.post("/studies/kiosk/ask", data={"form_token": form_token(page)}).status_code == 401


@pytest.mark.parametrize("then", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_logging_in_leads_nowhere_else(stranger, then):
    assert stranger.post("/login", data={"token": TOKEN, "then": then}).headers["location"] == "/"


def test_a_cookie_that_was_made_up(stranger, guarded):
    for made_up in ("x", "a.b.c", "", "é", f"x.99999999999.{'0' * 64}"):
        header = {"cookie": f"allweather-{guarded.port}={made_up}".encode()}
        assert stranger.get("/", headers=header).status_code == 303


def test_a_forged_form_is_refused(server, client):
    page = client.get("/studies/kiosk").text
    ours = {"form_token": form_token(page)}
    before = client.get(f"{ROOT}/kiosk").json()["last_event"]
    forged = [
        ({}, {}),
        ({"form_token": "0" * 64}, {}),
        ({"form_token": form_token(httpx.get(f"{server.address}/studies/kiosk").text)}, {}),  # of another session
        (ours, {"origin": "https://evil.example"}),
        (ours, {"origin": "null"}),
        (ours, {"origin": f"http://127.0.0.1:{server.port + 1}"}),
        (ours, {"sec-fetch-site": "cross-site"}),
        (ours, {"sec-fetch-site": "same-site"}),
    ]
    for data, headers in forged:
        for path in ("ask", "trials/0/correct", "trials/0/withdraw", "trials/0/tell"):
            answer = client.post(f"/studies/kiosk/{path}", data=data, headers=headers)
            assert answer.status_code == 403, (data, headers, path)
    assert client.get(f"{ROOT}/kiosk").json()["last_event"] == before
    own = {"origin": server.address, "sec-fetch-site": "same-origin"}
    assert client.post("/studies/kiosk/ask", data=ours, headers=own).status_code == 303
    assert client.get(f"{ROOT}/kiosk").json()["last_event"] == before + 1


@pytest.mark.parametrize("charset", ["unicode_escape", "undefined", "punycode"])
def test_a_form_in_letters_that_are_none(stranger, charset):
    kind = f"multipart/form-data; boundary=x; charset={charset}"
    part = b'--x\r\ncontent-disposition: form-data; name="token"\r\n\r\n\\ud800\xff-\r\n--x--\r\n'
    answer = stranger.post("/login", content=part, headers={"content-type": kind})
    assert answer.status_code in (400, 401)
    assert stranger.post("/login", data={}, headers={"origin": "http://["}).status_code == 403


def test_only_the_token_itself_matches():
    accounts = ServerConfig(token=TOKEN).accounts
    assert check_token(TOKEN, accounts) == accounts[0]
    assert check_token(f"{TOKEN}x", accounts) is None
    assert check_token("", accounts) is None
    assert check_token("", ServerConfig().accounts) is None


ADA, BOB = "a" * 20, "b" * 20


def test_tokens_with_names(url, tmp_path):
    fed(url, 3)
    lines = (f'ada = {{ token = "{ADA}" }}', f'bob = {{ token = "{BOB}", access = "read" }}')
    (tmp_path / "tokens.toml").write_text("\n".join(lines))
    users = _users(tmp_path / "tokens.toml")
    root = "/api/v1/studies/kiosk"
    with serving(url, users=users) as server, server.client() as client:
        ada, bob = ({"authorization": f"Bearer {token}"} for token in (ADA, BOB))
        assert client.get(root).status_code == 401
        assert client.get("/health").status_code == 200
        assert client.get(root, headers=bob).status_code == 200
        refused = client.post(f"{root}/trials/1/correct", json={"values": [2]}, headers=bob)
        assert (refused.status_code, refused.json()["detail"]) == (403, "this token may only read")
        assert client.post(f"{root}/trials/1/correct", json={"values": [2]}, headers=ada).status_code == 200
        assert client.post("/login", data={"token": BOB}).status_code == 303
        assert "New study" not in client.get("/").text
        for offered in ("Ask for the next trial", "Add past data", "Change the study"):
            assert offered not in client.get("/studies/kiosk").text
        page = client.get("/studies/kiosk/trials/1")
        assert "Correct the result" not in page.text
        assert "Withdraw" not in page.text
        assert "<td>ada</td>" in page.text
        upper = {"variables": {"order": {"upper": 120}}}
        assert client.patch(root, json=upper, headers=ada).json()["changes"]
        changes = client.get("/studies/kiosk/change").text
        assert re.search(r"<td>order upper: 100 -&gt; 120</td><td>[^<]*</td><td>ada</td>", changes)
        assert client.post(f"{root}/ask", json={}, headers=ada).status_code == 201
        row = {"order": 110, "demand": 50, "value": 1}
        assert client.post(f"{root}/trials", json={"rows": [row]}, headers=ada).status_code == 201
        assert client.post(f"{root}/contexts", json={"rows": [{"demand": 50}]}, headers=ada).status_code == 201
        lines = client.get(f"{root}/journal", headers=ada).text.splitlines()
        written = [(line["kind"], line["payload"].get("by")) for line in map(json.loads, lines[7:])]
        assert written == [(kind, "ada") for kind in ("corrected", "changed", "asked", "added", "observed")]
        again = f"sqlite:///{tmp_path}/again.db"
        import_lines(Database(again), lines)
        assert StudyLog.of(Journal.open(Database(again), "kiosk")).spec.fields["variables"]["order"]["upper"] == 120
        posted = {"form_token": form_token(page.text), "values": "3"}
        assert client.post("/studies/kiosk/trials/1/correct", data=posted).status_code == 403


def test_a_certificate_needs_its_key(tmp_path):
    with pytest.raises(InvalidInput, match="be given with --key"):
        ServerConfig(certificate=tmp_path / "x.pem")


def test_the_guess_limit_delays_a_few_and_rejects_the_rest():
    async def attempts():
        limit = GuessLimit(seconds=0.01)
        return await asyncio.gather(*(limit.wait() for _ in range(MAX_WAITING_GUESSES + 2)))

    assert asyncio.run(attempts()) == [True] * MAX_WAITING_GUESSES + [False] * 2
