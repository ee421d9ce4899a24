import math
import re
from pathlib import Path

import pytest
from tests.dashboard.served import FARM, made, serving

from allweather.dashboard.errors import (
    TITLES,
    Busy,
    error_fields,
    error_headers,
    one_line,
    page_message,
    status_of,
)
from allweather.errors import AllweatherError, InvalidInput, StorageError

ROOT = "/api/v1/studies/kiosk"
DOCS = Path(__file__).parents[2] / "docs/dashboard.md"


def kinds(kind=AllweatherError):
    return {kind, *(each for child in kind.__subclasses__() for each in kinds(child))}


def test_every_error_has_a_documented_status():
    table = re.search(r"\| status \| meaning \|(.*?)\n\n", DOCS.read_text(), re.S).group(1)
    documented = {int(each) for row in re.findall(r"\n\| ([\d, ]+) \|", table) for each in row.split(",")}
    found = {status_of(kind("something")) for kind in kinds()}
    assert found <= documented
    assert found <= set(TITLES)
    assert documented - {401, 408, 413, 415, 421, 429} == found


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (("GET", "/api/v1/studies/none"), 404),
        (("GET", f"{ROOT}/trials/99"), 404),
        (("GET", f"{ROOT}/figures/none"), 404),
        (("POST", "/studies/kiosk/ask"), 403),
        (("GET", f"{ROOT}/trials?limit=0"), 422),
        (("PUT", ROOT), 405),
    ],
)
def test_a_request_that_cannot_be_answered_has_the_status_of_its_reason(client, request_, status):
    content = {"json": {}} if request_[0] == "PUT" else {}
    assert client.request(*request_, **content).status_code == status


def test_a_form_that_is_no_text_is_malformed(client):
    typed = {"content-type": "multipart/form-data; boundary=x; charset=utf-7"}
    content = b'--x\r\ncontent-disposition: form-data; name="token"\r\n\r\n+2AA-\r\n--x--\r\n'
    assert client.post("/login", content=content, headers=typed).status_code == 400


def test_a_budget_that_is_spent_is_a_conflict(url):
    made(url, FARM.replace("budget = 20", "budget = 1"), "farm")
    with serving(url) as server, server.client() as client:
        statuses = [client.post("/api/v1/studies/farm/ask", json={}).status_code for _ in range(2)]
    assert statuses == [201, 409]


@pytest.mark.parametrize(("kind", "waits"), [(Busy, True), (StorageError, True), (InvalidInput, False)])
def test_errors_that_pass_say_when_to_try_again(kind, waits):
    assert ("retry-after" in error_headers(kind("something"))) is waits


def test_the_api_returns_the_fields_of_an_error(client):
    (trial,) = client.post(f"{ROOT}/ask", json={}).json()["trials"]
    here = f"{ROOT}/trials/{trial['number']}"
    answer = client.post(f"{here}/tell", json={"values": [1], "context": {"demand": 300}})
    document = answer.json()
    assert answer.status_code == document["status"] == 422
    assert document["where"] == "context demand"
    assert document["received"] == 300
    assert document["requirement"] in document["detail"]
    client.post(f"{here}/tell", json={"values": [1], "context": {"demand": 30}})
    again = client.post(f"{here}/tell", json={"values": [2]}).json()
    assert again["where"] == f"Study.tell(trial={trial['number']}): value"
    assert "study.correct" in again["remedy"]
    missing = client.get(f"{ROOT}/trials/99").json()
    assert missing["where"] is None
    unknown = client.post(f"{ROOT}/ask", json={"m": 1}).json()
    assert unknown["where"] == "body.m"


def test_fields_are_plain_json():
    assert error_fields(InvalidInput(where="x", requirement="be finite", received=math.nan))["received"] == "nan"
    assert error_fields(InvalidInput(where="x", requirement="be a number", received=[1]))["received"] == "[1]"
    assert error_fields(StorageError("the disk is full")) == {}


def test_pages_name_fields_and_trials_instead_of_arguments():
    outside = InvalidInput(where="decision order", requirement="be in [0, 1]", received=2)
    assert page_message(outside) == "order must be in [0, 1], got 2"
    withdrawn = InvalidInput("was withdrawn: it takes no more results", where="Study.tell(trial=3)")
    assert page_message(withdrawn, 3) == "trial 3 was withdrawn: it takes no more results"
    assert page_message(StorageError("the disk\nis full")) == "the disk is full"


def test_long_messages_are_cut():
    assert len(one_line("x" * 5000)) == 600
