"""Several outcomes in the REST API and on the pages."""

from tests.cli.test_tell import REACTOR
from tests.dashboard.served import form_token, made, serving

ROOT = "/api/v1/studies/reactor"


def test_several_outcomes_by_program_and_by_form(url):
    study = made(url, REACTOR)
    study.add([{"heat": h / 4, "lot": 0.5, "yield": h / 4, "purity": 1 - h / 5} for h in range(5)])
    with serving(url) as server, server.client() as client:
        (asked,) = client.post(f"{ROOT}/ask", json={}).json()["trials"]
        told = client.post(
            f"{ROOT}/trials/{asked['number']}/tell",
            json={"values": {"yield": [0.4, 0.5]}, "sd": {"yield": 0.1}, "context": {"lot": 0.4}},
        ).json()
        assert told["state"] == "pending"
        assert told["results"]["yield"]["values"] == [0.4, 0.5]
        page = client.get("/studies/reactor").text
        assert "still missing: purity" in page
        form = {"form_token": form_token(page), "values:purity": "0.6", "sd:purity": "", "values:yield": ""}
        shown = client.post(f"/studies/reactor/trials/{asked['number']}/tell", data=form, follow_redirects=True).text
        assert "complete" in shown
        assert "<dt>purity</dt><dd><strong>0.6</strong>" in shown
        best = client.get(f"{ROOT}/recommendation").json()
        assert [each["outcome"] for each in best["outcomes"]] == ["yield", "purity"]
        words = client.get("/studies/reactor/recommendation").text
        assert ("Possible gain" in words) == (best["possible_gain"] is not None)
        assert "purity at least 0.5 with probability 0.9" in words
        assert "All limits hold with a probability of" in words
        table = client.get("/studies/reactor/trials").text
        assert ">purity<" in table
        wrong = client.post(f"{ROOT}/trials/{asked['number']}/correct", json={"values": [3.0]})
        assert wrong.status_code == 422
