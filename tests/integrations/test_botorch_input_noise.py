import numpy as np
import pytest
import scipy.stats
import torch

import allweather as aw
from allweather.integrations.botorch import InputNoise

SPACE = aw.Space(dose=aw.Real(0, 10), slip=aw.Context(-1, 1))
NOISE = InputNoise({"slip": "dose"})
LAW = aw.Known(scipy.stats.norm(0, 0.5), samples=64)


def effect(dose):
    """A needle's eye at 8, and a gentler hill at 3."""
    return 1.3 * np.exp(-(((dose - 8) / 0.5) ** 2)) + np.exp(-(((dose - 3) / 2) ** 2))


def carried_out(acquisition=None, trials=16):
    study = aw.Study(
        SPACE, context=LAW, objective=aw.Expectation(), surrogate=NOISE, acquisition=acquisition, initial=8
    )
    for _ in range(trials):
        trial = study.ask()
        study.tell(trial, float(effect(trial.decision["dose"])), context={"slip": 0.0})  # without error
    return study


@pytest.mark.filterwarnings("ignore:.*optimization.*", "ignore:A not p.d.")
def test_trials_without_error_teach_what_happens_with_one():
    grid, slips = np.linspace(0, 10, 1001), scipy.stats.norm(0, 0.5).ppf((np.arange(200) + 0.5) / 200)
    steadiest = grid[np.argmax([effect(dose + slips).mean() for dose in grid])]
    best = carried_out().recommend()
    assert grid[np.argmax(effect(grid))] == pytest.approx(8, abs=0.1)
    assert best.decision["dose"] == pytest.approx(steadiest, abs=0.4)


@pytest.mark.filterwarnings("ignore:.*optimization.*", "ignore:A not p.d.")
def test_its_sample_paths_depend_on_the_sum_only():
    study = carried_out(aw.Thompson(), trials=10)
    posterior = study._engine.posterior(study.history)
    slips = torch.tensor([[0.0], [0.5], [1.0]], dtype=torch.float64)  # -1, 0, 1
    drawn = posterior.paths(slips, 4, torch.Generator().manual_seed(0))
    three, four = drawn(torch.tensor([[0.3]], dtype=torch.float64)), drawn(torch.tensor([[0.4]], dtype=torch.float64))
    torch.testing.assert_close(three[..., 1:], four[..., :2])


@pytest.mark.filterwarnings("ignore:.*optimization.*", "ignore:A not p.d.")
def test_the_error_is_added_to_its_own_decision_wherever_that_is():
    kiln = aw.Space(wood=aw.Choice("oak", "ash"), heat=aw.Real(0, 90), dose=aw.Real(0, 10), slip=aw.Context(-1, 1))
    study = aw.Study(kiln, context=LAW, objective=aw.Expectation(), surrogate=NOISE, initial=1)
    rng, doses = np.random.default_rng(0), np.linspace(0, 10, 41)
    rows = [{"wood": rng.choice(["oak", "ash"]), "heat": rng.uniform(0, 90), "dose": dose} for dose in doses]
    study.add([{**row, "slip": 0.0, "value": float(effect(row["dose"]))} for row in rows])
    assert NOISE.on(kiln).columns == (3,)
    assert study.recommend().decision["dose"] == pytest.approx(3, abs=0.5)


@pytest.mark.parametrize(
    ("space", "errors", "said"),
    [
        (SPACE, {"slpi": "dose"}, r"name the contexts \['slip'\], got {'slpi'"),
        (SPACE, {"slip": "dsoe"}, r"join real variables of linear scale, one of \['dose'\], got None"),
        (SPACE, {"slip": "slip"}, "join real variables"),
        (aw.Space(dose=aw.Real(1, 10, log=True), slip=aw.Context(-1, 1)), {"slip": "dose"}, "linear scale"),
        (aw.Space(dose=aw.Integer(1, 10), slip=aw.Context(-1, 1)), {"slip": "dose"}, "join real variables"),
    ],
)
def test_what_is_no_error_of_a_decision_is_refused(space, errors, said):
    with pytest.raises(aw.InvalidInput, match=said):
        aw.Study(space, surrogate=InputNoise(errors))


def test_a_function_of_columns_must_know_their_names():
    with pytest.raises(aw.InvalidInput, match="name a decision for each context"):
        InputNoise("slip")
    points = torch.rand(4, 1, dtype=torch.float64)
    with pytest.raises(aw.InvalidInput, match=r"call `.on\(space\)`"):
        NOISE(points, points)
    with pytest.raises(aw.InvalidInput, match=r"have 2 columns, contexts among them, got \(4, 1\)"):
        NOISE.on(SPACE)(points, points)
