import pytest
from tests.dashboard.served import fed, made, serving

import allweather as aw
from allweather.storage import Database, Journal
from allweather.storage.checksum import checksum
from allweather.storage.schema import studies

KIOSK_PATH = "/api/v1/studies/kiosk"
SCRIPT = "<script>alert(1)</script>"


def test_variables_that_cannot_be_read_are_a_sentence(url):
    strange = {f"{SCRIPT}": aw.Real(0, 1)}
    aw.Study(aw.Space(**strange), storage=url, name="strange", surrogate=lambda x, y: None)
    Journal.create(Database(url), "unreadable", {"variables": {"x": {"lower": SCRIPT, "upper": 1}}})
    with serving(url) as server, server.client() as client:
        answer = client.get("/studies/strange")
        assert answer.status_code == 200
        assert SCRIPT not in answer.text
        answer = client.get("/studies/unreadable")
        assert answer.status_code == 422
        assert "must be a number" in answer.text
        assert SCRIPT not in answer.text
        assert client.get("/").status_code == 200


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("no json", 503, "is damaged: what it is made of cannot be read"),
        ("[1]", 503, "is damaged: what it is made of cannot be read"),
        ('{"study": 3}', 422, "knows no"),
        ('{"variables": "x"}', 422, "be a table"),
    ],
)
def test_a_spec_that_is_none_is_a_sentence(url, text, status, said):
    made(url)
    with Database(url).writing() as connection:
        connection.execute(studies.update().values(spec=text, checksum=checksum(text)))
    with serving(url) as server, server.client() as client:
        answer = client.get("/studies/kiosk")
        assert answer.status_code == status
        assert said in answer.text


def test_a_study_made_anew_under_an_old_name(url):
    fed(url, 5)
    with serving(url) as server, server.client() as client:
        assert client.get(KIOSK_PATH).json()["states"] == {"complete": 5}
        with Database(url).writing() as connection:
            connection.exec_driver_sql("DELETE FROM events")
            connection.execute(studies.delete())
        assert client.get(KIOSK_PATH).status_code == 404
        made(url)
        assert client.get(KIOSK_PATH).json()["states"] == {}
        assert client.post(f"{KIOSK_PATH}/ask", json={}).json()["trials"][0]["number"] == 0


def test_the_journal_is_read_once_for_all_queues(client, server, monkeypatch):
    read = []
    original = Journal.read

    def counted(journal, after=0, trial=None):
        found = original(journal, after, trial)
        read.extend(event.number for event in found)
        return found

    monkeypatch.setattr(Journal, "read", counted)
    assert client.get("/studies/kiosk").status_code == 200
    assert client.get(f"{KIOSK_PATH}/recommendation").status_code == 200
    assert client.get(f"{KIOSK_PATH}/figures/progress").status_code == 200
    number = client.post(f"{KIOSK_PATH}/ask", json={}).json()["trials"][0]["number"]
    told = {"values": [3], "context": {"demand": 4}}
    assert client.post(f"{KIOSK_PATH}/trials/{number}/tell", json=told).json()["state"] == "complete"
    rows = [{"order": 20, "demand": 30, "value": 80}]
    assert client.post(f"{KIOSK_PATH}/trials", json={"rows": rows}).status_code == 201
    assert client.get("/studies/kiosk").status_code == 200
    assert read == list(range(1, 25))  # the trials of the fixture; what was written here is known already
