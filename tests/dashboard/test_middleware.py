import socket
import time

import httpx
import pytest
from tests.dashboard.served import form_token, made, serving

import allweather as aw
from allweather.dashboard import ServerConfig
from allweather.dashboard.middleware import WAITING
from allweather.dashboard.responses import encode_segment
from allweather.errors import InvalidInput
from allweather.storage import Database
from allweather.storage.schema import studies

TOKEN = "a-token-of-many-characters"
ROOT = "/api/v1/studies"


@pytest.fixture
def guarded(kiosk):
    with serving(kiosk, host="0.0.0.0", token=TOKEN, names=("kiosk.example",)) as server:
        server.app.state.rate_limit.seconds = 0.2
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
    ("door", "host", "known"),
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
def test_names_it_answers_to(door, host, known):
    assert door.accepts_host(host) is known


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


def test_a_wrong_token_waits_and_many_are_turned_away(guarded, stranger):
    started = time.monotonic()
    wrong = {"authorization": f"Bearer {TOKEN}x"}
    assert stranger.get(ROOT, headers=wrong).status_code == 401
    assert stranger.post("/login", data={"token": "wrong"}).status_code == 401
    assert time.monotonic() - started >= 0.4
    guarded.app.state.rate_limit.waiting = WAITING
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


def test_scripts_and_styles_are_kept_forever_by_an_address_with_their_version(client):
    page = client.get("/studies/kiosk").text
    for address in [part.split('"')[0] for part in page.split('"/static/')[1:]]:
        answer = client.get(f"/static/{address}")
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert any(each.isdigit() for each in address)
    assert client.get("/static/..%2fguard.py").status_code == 404


@pytest.mark.parametrize("length", [True, False])
def test_a_body_that_is_too_large(client, length):
    part = b'{"rows": [' + b" " * 3_000_000
    content = part if length else iter([part[:1_500_000], part[1_500_000:]])
    answer = client.post(f"{ROOT}/kiosk/trials", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 413


SCRIPT = "<script>alert(1)</script>"


def test_a_script_in_a_name_is_shown_as_text(url):
    nasty = f'"{SCRIPT}"'
    recipe = f"""
initial = 2
[variables]
wood = {{ options = ['{SCRIPT}', "'\\" onload=x"] }}
rain = {{ lower = 0, upper = 1, context = true }}
"""
    study = made(url, recipe, nasty)
    for number in range(3):
        study.tell(study.ask(), float(number), context={"rain": 0.2 * number})
    study.ask()
    with serving(url) as server, server.client() as client:
        (glance,) = client.get(ROOT).json()["studies"]
        here = glance["address"].removeprefix("/api/v1")
        for path in ("/", here, f"{here}/recommendation", f"{here}/trials", f"{here}/trials/0", f"{here}/pending"):
            text = client.get(path).text
            assert SCRIPT not in text
            assert "&lt;script&gt;alert(1)" in text
            assert "' onload" not in text
            assert '" onload' not in text
        assert SCRIPT not in client.get(f"/studies/{encode_segment(SCRIPT)}").text
        for figure in ("profile", "slices", "contexts"):
            drawn = client.get(f"{glance['address']}/figures/{figure}").text
            assert SCRIPT not in drawn


def test_variables_that_cannot_be_read_are_a_sentence(url):
    strange = {f"{SCRIPT}": aw.Real(0, 1)}
    aw.Study(aw.Space(**strange), storage=url, name="strange", surrogate=lambda x, y: None)
    with serving(url) as server, server.client() as client:
        answer = client.get("/studies/strange")
        assert answer.status_code == 422
        assert "cannot be read" in answer.text
        assert client.get("/").status_code == 200


@pytest.mark.parametrize("charset", ["unicode_escape", "undefined", "punycode"])
def test_a_form_in_letters_that_are_none(stranger, charset):
    kind = f"multipart/form-data; boundary=x; charset={charset}"
    part = b'--x\r\ncontent-disposition: form-data; name="token"\r\n\r\n\\ud800\xff-\r\n--x--\r\n'
    answer = stranger.post("/login", content=part, headers={"content-type": kind})
    assert answer.status_code in (400, 401)
    assert stranger.post("/login", data={}, headers={"origin": "http://["}).status_code == 403


def test_a_head_is_answered_like_a_page(client):
    answer = client.head("/")
    assert (answer.status_code, answer.content) == (200, b"")
    assert client.head("/studies/none").status_code == 404


@pytest.mark.parametrize("text", ["no json", "[1]", '{"study": 3}', '{"recipe": "x"}'])
def test_a_recipe_that_is_none_is_a_sentence(url, text):
    made(url)
    with Database(url).writing() as connection:
        connection.execute(studies.update().values(recipe=text))
    with serving(url) as server, server.client() as client:
        answer = client.get("/studies/kiosk")
        assert answer.status_code == 503
        assert "must be a JSON object" in answer.text
