import math

import pytest

from allweather.dashboard.errors import (
    Forbidden,
    MalformedRequest,
    NotFound,
    error_fields,
    one_line,
    page_message,
    status_of,
)
from allweather.errors import BudgetSpent, Conflict, InvalidInput, StorageError

ROOT = "/api/v1/studies/kiosk"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (NotFound, 404),
        (Forbidden, 403),
        (MalformedRequest, 400),
        (Conflict, 409),
        (BudgetSpent, 409),
        (StorageError, 503),
        (InvalidInput, 422),
    ],
)
def test_every_error_has_a_status(kind, status):
    assert status_of(kind("something")) == status


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
