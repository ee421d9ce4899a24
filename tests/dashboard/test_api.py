import json

import pytest
from tests.dashboard.served import FARM, KIOSK, fed, made, profit, serving

import allweather as aw
from allweather.dashboard.studies import encode_segment
from allweather.storage import Database, Journal, import_lines
from allweather.study import StudyLog

ROOT = "/api/v1/studies"


def detail(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["status"] == status
    return document["detail"]


def loop(client, name, trials):
    """A worker elsewhere: ask, try, tell."""
    for _ in range(trials):
        asked = client.post(f"{ROOT}/{encode_segment(name)}/ask", json={})
        assert asked.status_code == 201, asked.text
        (trial,) = asked.json()["trials"]
        assert trial["state"] == "pending"
        value = profit(trial["decision"]["order"], 40.0)
        told = client.post(
            f"{ROOT}/{encode_segment(name)}/trials/{trial['number']}/tell",
            json={"values": [value], "context": {"demand": 40}},
        )
        assert told.json()["state"] == "complete"
        assert told.json()["values"] == [value]


def test_remote_ask_and_tell_is_the_study_itself(url):
    made(url)
    twin = made(f"{url}.twin")
    with serving(url) as server, server.client() as client:
        loop(client, "kiosk", 5)
        found = client.get(f"{ROOT}/kiosk/trials").json()
    for _ in range(5):
        trial = twin.ask()
        twin.tell(trial, profit(trial.decision["order"], 40.0), context={"demand": 40})
    assert [each["decision"] for each in found["trials"]] == [dict(trial.decision) for trial in twin.history.trials]
    assert found["total"] == 5


def test_remote_ask_and_tell_in_postgresql(postgresql):
    made(postgresql, name="page/kiosk")
    with serving(postgresql) as server, server.client() as client:
        loop(client, "page/kiosk", 2)
        assert client.get(f"{ROOT}/page%2Fkiosk").json()["states"] == {"complete": 2}
        listed = {each["name"]: each for each in client.get(ROOT).json()["studies"]}
        assert listed["page/kiosk"]["trials"] == 2


def test_what_a_study_is(client):
    (glance,) = client.get(ROOT).json()["studies"]
    assert (glance["name"], glance["trials"], glance["last_event"]) == ("kiosk", 12, 24)
    study = client.get(glance["address"]).json()
    assert study["states"] == {"complete": 12}
    assert study["variables"] == {"order": "decision, 0 to 100", "demand": "context, 0 to 100"}
    assert study["why_not"] is None
    assert study["last_event"] == 24
    assert "within 0.2 in total variation" in study["wanted"]


def test_trials_by_page_and_state(client):
    client.post(f"{ROOT}/kiosk/ask", json={"n": 2})
    part = client.get(f"{ROOT}/kiosk/trials", params={"limit": 5, "offset": 10}).json()
    assert [trial["number"] for trial in part["trials"]] == [10, 11, 12, 13]
    assert part["total"] == 14
    waiting = client.get(f"{ROOT}/kiosk/trials", params={"state": "pending"}).json()
    assert [trial["number"] for trial in waiting["trials"]] == [12, 13]
    assert "state" in detail(client.get(f"{ROOT}/kiosk/trials", params={"state": "lost"}), 422)


def test_telling_twice_correcting_and_withdrawing(client):
    (trial,) = client.post(f"{ROOT}/kiosk/ask", json={"context": {"demand": 25}}).json()["trials"]
    assert trial["context"] == {"demand": 25.0}
    here = f"{ROOT}/kiosk/trials/{trial['number']}"
    first = client.post(f"{here}/tell", json={"values": [1.0, 2.0]})
    assert first.json()["state"] == "complete"
    assert client.post(f"{here}/tell", json={"values": [1.0, 2.0]}).json() == first.json()
    assert client.get(f"{ROOT}/kiosk").json()["last_event"] == 26
    assert "told once" in detail(client.post(f"{here}/tell", json={"values": [3.0]}), 422)
    assert client.post(f"{here}/correct", json={"values": [3.0]}).json()["values"] == [3.0]
    assert client.delete(here).json()["state"] == "withdrawn"
    assert "withdrawn" in detail(client.post(f"{here}/tell", json={"failed": True}), 422)
    assert client.get(here).json()["state"] == "withdrawn"


def test_changing_a_study(client):
    body = {"variables": {"order": {"upper": 200}}, "radius": 0.3}
    changed = client.patch(f"{ROOT}/kiosk", json=body)
    assert changed.status_code == 200, changed.text
    assert changed.json()["changes"][0] == {"name": "order upper", "before": 100, "after": 200}
    assert client.get(f"{ROOT}/kiosk").json()["variables"]["order"] == "decision, 0 to 200"
    assert client.patch(f"{ROOT}/kiosk", json=body).json() == {"changes": []}
    for wrong in ({"order": {"upper": "x"}}, {"odrer": {"upper": 1}}, {"order": {"add": "x"}}, {"order": {"log": 1}}):
        assert "order" in detail(client.patch(f"{ROOT}/kiosk", json={"variables": wrong}), 422)
    assert "control sets" in detail(client.patch(f"{ROOT}/kiosk", json={"budget": 3}), 422)


def test_data_from_before(client):
    rows = [{"order": 20, "demand": 30, "value": 80}, {"order": 50, "demand": 30, "value": 20}]
    added = client.post(f"{ROOT}/kiosk/trials", json={"rows": rows})
    assert added.status_code == 201
    assert [trial["number"] for trial in added.json()["trials"]] == [12, 13]
    wrong = client.post(f"{ROOT}/kiosk/trials", json={"rows": [*rows, {"order": 20, "demand": 300, "value": 1}]})
    assert "row 3" in detail(wrong, 422)
    assert client.get(ROOT).json()["studies"][0]["trials"] == 14
    table = {"rows": [{"qty": 20, "demand": 30, "profit": None, "by": "Ada"}]}
    assert "unknown" in detail(client.post(f"{ROOT}/kiosk/trials", json=table), 422)
    table |= {"columns": {"order": "qty", "value": "profit"}, "blank": "failed", "occasion": "Monday"}
    (failed,) = client.post(f"{ROOT}/kiosk/trials", json=table).json()["trials"]
    assert (failed["state"], failed["occasion"]) == ("failed", "Monday")
    (waits,) = client.post(f"{ROOT}/kiosk/trials", json={**table, "blank": "pending"}).json()["trials"]
    assert waits["state"] == "pending"


def test_recommendations_by_objective(client, kiosk):
    study = aw.Study.load(kiosk, "kiosk")
    for query, objective in (
        ({}, None),
        ({"objective": "expectation"}, aw.Expectation()),
        ({"objective": "dro", "distance": "kl", "radius": 0.3}, aw.DRO(aw.KL(0.3))),
        ({"objective": "dro", "distance": "mmd", "radius": 0.3}, aw.DRO(aw.MMD(0.3))),
        ({"objective": "dro", "distance": "wasserstein", "radius": 0.1}, aw.DRO(aw.Wasserstein(0.1))),
        ({"objective": "cvar", "level": 0.1}, aw.CVaR(0.1)),
    ):
        found = client.get(f"{ROOT}/kiosk/recommendation", params=query).json()
        best = study.recommend(objective=objective)
        assert found["decision"] == best.decision, query
        assert (found["value"], tuple(found["interval"])) == (best.value, best.interval)
        assert (found["possible_gain"], found["expected_gain"]) == (best.possible_gain, best.expected_gain), query
        assert found["warning"] == best.warning
    assert "radius" in detail(client.get(f"{ROOT}/kiosk/recommendation", params={"radius": -1}), 422)
    assert "objective" in detail(client.get(f"{ROOT}/kiosk/recommendation", params={"objective": "best"}), 422)


def test_figures(client):
    names = client.get(f"{ROOT}/kiosk/figures").json()["figures"]
    assert "control_sets" not in names
    assert names[-2:] == ["check", "policy"]
    for name in names:
        answer = client.get(f"{ROOT}/kiosk/figures/{name}", params={"width": 360})
        assert answer.status_code == 200, answer.text
        assert {"data", "layout"} <= answer.json()["figure"].keys()
        assert answer.json()["says"]
        assert "compute" in answer.headers["server-timing"]
    assert "control sets" in detail(client.get(f"{ROOT}/kiosk/figures/control_sets"), 422)
    assert "robustness" in detail(client.get(f"{ROOT}/kiosk/figures/best"), 404)


def test_what_was_computed_is_remembered_until_something_happens(client, monkeypatch):
    answers = [client.get(f"{ROOT}/kiosk/figures/profile") for _ in range(2)]
    assert answers[0].headers["server-timing"] == answers[1].headers["server-timing"]
    other = client.get(f"{ROOT}/kiosk/figures/profile", params={"objective": "worst-case"})
    assert other.json()["figure"] != answers[0].json()["figure"]
    client.post(f"{ROOT}/kiosk/trials", json={"rows": [{"order": 35, "demand": 30, "value": -500}]})
    assert client.get(f"{ROOT}/kiosk/figures/profile").json()["figure"] != answers[0].json()["figure"]


def test_the_journal_goes_to_another_database(client, tmp_path):
    answer = client.get(f"{ROOT}/kiosk/journal")
    assert "kiosk.jsonl" in answer.headers["content-disposition"]
    elsewhere = Database(f"sqlite:///{tmp_path}/elsewhere.db")
    import_lines(elsewhere, answer.text.splitlines())
    assert len(StudyLog.of(Journal.open(elsewhere, "kiosk")).history.trials) == 12
    table = client.get(f"{ROOT}/kiosk/table").text.splitlines()
    assert table[0] == "trial,state,order,demand,value"
    assert len(table) == 13


def test_control_sets_and_a_spent_budget(url):
    made(url, FARM)
    with serving(url) as server, server.client() as client:
        here = f"{ROOT}/farm"
        for _ in range(2):
            (trial,) = client.post(f"{here}/ask", json={}).json()["trials"]
            assert (trial["cost"], trial["left"]) == (1.0, ["light", "wood"])
            told = {"values": [-abs(trial["decision"]["ph"] - 6)], "context": {"light": 0.5, "wood": "oak"}}
            client.post(f"{here}/trials/{trial['number']}/tell", json=told)
        said = client.get(here).json()
        assert (said["spent"], said["budget"]) == (2.0, 20)
        assert client.get(f"{here}/recommendation").json()["cost"] in (1.0, 3.0)
        assert client.get(f"{here}/figures/control_sets").status_code == 200
        assert "budget" in detail(client.post(f"{here}/ask", json={"n": 100}), 409)
        (trial,) = client.post(f"{here}/ask", json={"context": {"wood": "oak"}}).json()["trials"]
        assert trial["partial"] == {"wood": "oak"}
        assert client.get(here).json()["trials"] == 3


def test_a_study_that_only_its_program_can_make(url):
    surrogate = lambda x, y: None  # noqa: E731
    study = aw.Study(
        aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1)), surrogate=surrogate, storage=url, name="by a program"
    )
    trial = study.ask()
    with serving(url) as server, server.client() as client:
        here = f"{ROOT}/{encode_segment('by a program')}"
        assert "program" in client.get(here).json()["why_not"]
        assert "program" in detail(client.post(f"{here}/ask", json={}), 422)
        assert "program" in detail(client.get(f"{here}/recommendation"), 422)
        told = client.post(f"{here}/trials/{trial.number}/tell", json={"values": [1], "context": {"demand": 0.3}})
        assert told.json()["state"] == "complete"
        assert client.get(f"{here}/journal").text.count("\n") == 3
        page = client.get(f"/studies/{encode_segment('by a program')}").text
        assert "made by a program" in page
        assert "Ask for the next trial" not in page


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'{"n": 0}',
        b'{"n": 101}',
        b'{"n": "1"}',
        b'{"m": 1}',
        b'{"context": {"demand": NaN}}',
        b'{"context": {"demand": 1e999}}',
        b'{"context": {"demand": 1' + b"0" * 400 + b"}}",
        b'{"context": {"demand": "\\ud800"}}',
        b'{"context": {"\\ud800": 1}}',
        b'{"context": {"demand": [1]}}',
        b'{"context": {"demnd": 1}}',
        b"\xff\xfe",
    ],
)
def test_bodies_that_do_not_fit(client, body):
    answer = client.post(f"{ROOT}/kiosk/ask", content=body, headers={"content-type": "application/json"})
    assert detail(answer, answer.status_code)
    assert answer.status_code in (400, 422)
    assert client.get(f"{ROOT}/kiosk").json()["trials"] == 12


def test_what_is_not_there(client):
    assert "no study 'shop'" in detail(client.get(f"{ROOT}/shop"), 404)
    assert "no trial 99" in detail(client.get(f"{ROOT}/kiosk/trials/99"), 404)
    assert "no trial 99" in detail(client.post(f"{ROOT}/kiosk/trials/99/tell", json={"failed": True}), 404)
    detail(client.get(f"{ROOT}/%00"), 404)
    detail(client.get("/api/v2/studies"), 404)
    detail(client.put(f"{ROOT}/kiosk", json={}), 405)
    detail(client.get(f"{ROOT}/kiosk/trials/-1"), 422)


def test_an_empty_study_says_what_is_missing(url):
    made(url)
    with serving(url) as server, server.client() as client:
        assert "complete trial" in detail(client.get(f"{ROOT}/kiosk/recommendation"), 422)
        assert "complete trial" in detail(client.get(f"{ROOT}/kiosk/figures/progress"), 422)
        assert client.get(f"{ROOT}/kiosk/figures").json()["figures"] == []
        assert "No recommendation yet" in client.get("/studies/kiosk/recommendation").text


@pytest.mark.parametrize("name", ["a/b", "trials", "what?", "#1", "..", ".", "100%", "a;", ";", "é ü", "'\"><b>", "~"])
def test_every_name_has_an_address(url, name):
    fed(url, 3, name)
    with serving(url) as server, server.client() as client:
        assert client.get(client.get(ROOT).json()["studies"][0]["address"]).json()["name"] == name
        assert client.get(f"/studies/{encode_segment(name)}").status_code == 200
        assert client.get(f"/studies/{encode_segment(name)}/trials/2").status_code == 200


def test_a_database_that_goes_away(tmp_path):
    url = fed(f"sqlite:///{tmp_path}/lost.db", 3)
    with serving(url) as server, server.client() as client:
        assert client.get(f"{ROOT}/kiosk").status_code == 200
        # Replaced, not written over: a connection that another thread closes late would repair the damage.
        (tmp_path / "damaged").write_bytes(b"no database any more" * 100)
        (tmp_path / "damaged").replace(tmp_path / "lost.db")
        assert "deleted or replaced" in detail(client.get(f"{ROOT}/kiosk"), 503)
        assert client.get("/studies/kiosk").status_code == 503


def test_the_document_lists_every_operation(client):
    document = json.loads(client.get("/api/openapi.json").text)
    assert document["openapi"].startswith("3.")
    operations = [said for path in document["paths"].values() for said in path.values()]
    assert len(operations) == 18
    for said in operations:
        assert said["description"]
        assert {"400", "403", "422", "503"} <= said["responses"].keys()
    recommended = document["components"]["schemas"]["RecommendationOut"]["properties"]
    for name in ("possible_gain", "expected_gain", "warning"):
        assert recommended[name]["description"]
    page = client.get("/api/docs").text
    for path in document["paths"]:
        assert path in page
    assert KIOSK.split('"')[1] not in page


def test_contexts_are_observed_and_those_of_a_simulator_chosen(url):
    space = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
    aw.Study(space, context=aw.Empirical(), simulator=True, storage=url, name="kiosk")
    with serving(url) as server, server.client() as client:
        assert "observe_contexts" in detail(client.post(f"{ROOT}/kiosk/ask", json={}), 422)
        rows = [{"demand": 0.2}, {"demand": 0.6}]
        assert client.post(f"{ROOT}/kiosk/contexts", json={"rows": rows}).json() == {"observed": 2}
        assert "row 1" in detail(client.post(f"{ROOT}/kiosk/contexts", json={"rows": [{"demand": 7}]}), 422)
        (trial,) = client.post(f"{ROOT}/kiosk/ask", json={}).json()["trials"]
        assert trial["context"]["demand"] in (0.2, 0.6)
        told = client.post(f"{ROOT}/kiosk/trials/0/tell", json={"values": [1.5]}).json()
    assert (told["state"], told["context"]) == ("complete", trial["context"])
