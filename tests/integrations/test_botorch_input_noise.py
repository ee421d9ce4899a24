import numpy as np
import pytest
import scipy.stats
import torch

import allweather as aw
from allweather.integrations.botorch import InputNoise

SPACE = aw.Space(dose=aw.Real(0, 10), slip=aw.Context(-1, 1))
LAW = aw.Known(scipy.stats.norm(0, 0.5), samples=64)


def effect(dose):
    """A needle's eye at 8, and a gentler hill at 3."""
    return 1.3 * np.exp(-(((dose - 8) / 0.5) ** 2)) + np.exp(-(((dose - 3) / 2) ** 2))


def carried_out(acquisition=None, trials=16):
    noise = InputNoise.of(SPACE, {"slip": "dose"})
    study = aw.Study(
        SPACE, context=LAW, objective=aw.Expectation(), surrogate=noise, acquisition=acquisition, initial=8
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
    posterior = study._engine.posterior(study._history)
    slips = torch.tensor([[0.0], [0.5], [1.0]], dtype=torch.float64)  # -1, 0, 1
    drawn = posterior.paths(slips, 4, torch.Generator().manual_seed(0))
    three, four = drawn(torch.tensor([[0.3]], dtype=torch.float64)), drawn(torch.tensor([[0.4]], dtype=torch.float64))
    torch.testing.assert_close(three[..., 1:], four[..., :2])


@pytest.mark.parametrize(
    ("space", "errors", "said"),
    [
        (SPACE, {"slpi": "dose"}, r"name \['slip'\]"),
        (SPACE, {"slip": "dsoe"}, "join real variables"),
        (aw.Space(dose=aw.Real(1, 10, log=True), slip=aw.Context(-1, 1)), {"slip": "dose"}, "linear scale"),
        (aw.Space(dose=aw.Integer(1, 10), slip=aw.Context(-1, 1)), {"slip": "dose"}, "join real variables"),
    ],
)
def test_what_is_no_error_of_a_decision_is_refused(space, errors, said):
    with pytest.raises(aw.InvalidInput, match=said):
        InputNoise.of(space, errors)
    with pytest.raises(aw.InvalidInput, match="must match"):
        InputNoise((0,), (), ())
