"""Both generators run by Xopt are judged alike, and the page shows what the runs say."""

import json

import numpy as np
from benchmarks import xopt_generator as campaign
from benchmarks.constrained_problems import BY_NAME
from benchmarks.evidence import filled

REACTOR = BY_NAME["reactor"]


def test_the_page_is_what_the_runs_say():
    page = campaign.PAGE.read_text()
    assert "<!-- xopt -->" in page
    assert filled(page, campaign.tables()) == page


def test_only_what_is_not_stored_is_run(tmp_path):
    asked = []

    def one(law, side, seed):
        asked.append((law, side, seed))
        return {"law": law, "side": side, "seed": seed, "regret": float(seed), "kept": 1.0, "cpu_s": 2.0}

    path = tmp_path / "runs.jsonl"
    for seeds in (1, 2, 2):
        campaign.main(["--seeds", str(seeds), "--results", str(path)], one)
    assert len(asked) == len(set(asked)) == len(path.read_text().splitlines()) == 10
    assert "| contexts are independent | `AllweatherGenerator` | 100.5 (100.2 to 100.8) | 100% | 2 | 2 |" in (
        campaign.table(json.loads(line) for line in path.read_text().splitlines())
    )
    assert campaign.tables(tmp_path / "none") == {"xopt": "Not run yet."}


def test_evaluations_are_judged_in_their_own_contexts():
    pure, impure = [0.3, 0.3], [1.0, 1.0]
    found = campaign.tracked(REACTOR, np.array([pure, impure]), np.array([0.5, 0.5]))
    alone = campaign.tracked(REACTOR, np.array([pure]), np.array([0.5]))
    assert found["kept"] == 0.5
    assert 0 < alone["regret"] < 2 * found["regret"]
    best = REACTOR.outcomes(np.array([pure]), np.array([0.5]))["yield"][0] + alone["regret"]
    assert 0 < best <= 100


def test_contexts_are_those_of_the_seed():
    for law in campaign.LAWS:
        seen = campaign.contexts(law, 3)
        assert len(seen) == campaign.TRIALS
        assert (seen == campaign.contexts(law, 3)).all()
        assert 0 <= seen.min() < seen.max() <= 1
    assert np.abs(np.diff(campaign.contexts("slow", 3))).max() < 0.13
