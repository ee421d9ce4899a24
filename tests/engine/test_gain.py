"""What is left to gain, against what is true and what decisions are legal."""

import math

import numpy as np
import pytest
import torch
from benchmarks.possible_gain import PRIOR, SINE, held

import allweather as aw
from allweather.acquisition.optimize import Search
from allweather.engine import gain as gains
from allweather.engine.gain import gain_left


@pytest.mark.parametrize(("suite", "decisions", "trials"), [(SINE, 6, 30), (PRIOR, 3, 30), (PRIOR, 8, 40)])
def test_the_possible_gain_holds_in_several_decisions(suite, decisions, trials):
    found = [held(suite, decisions, trials, seed) for seed in range(8)]
    assert sum(each.regret <= each.possible + 1e-9 for each in found) >= 6
    assert all(0 < each.possible < 20 * each.spread for each in found if math.isfinite(each.possible))


def study(space, t=12, **parts):
    made, rng = aw.Study(space, seed=3, **parts), np.random.default_rng(1)
    names = [*space.decisions]
    for _ in range(t):
        row = space.decisions.decode(torch.from_numpy(rng.random((1, space.decisions.columns))))[0]
        context = float(rng.random())
        made.add(
            [
                {
                    **row,
                    "c": context,
                    "value": -sum(
                        (float(row[n] == "b") if isinstance(row[n], str) else row[n] - 0.3) ** 2 for n in names
                    )
                    + 0.1 * context,
                }
            ]
        )
    return made


@pytest.mark.parametrize(
    "objective", [aw.Expectation(), aw.CVaR(0.3), aw.DRO(aw.TotalVariation(0.2)), aw.DRO(aw.MMD(0.2))]
)
def test_only_legal_decisions_count(objective, monkeypatch):
    space = aw.Space(
        x=aw.Real(0, 1), y=aw.Real(0, 1), k=aw.Integer(0, 4), o=aw.Choice("a", "b", "c"), c=aw.Context(0, 1)
    )
    view = study(space, objective=objective).outlook()
    limits = (aw.LinearConstraint({"x": 1, "y": 1}, upper=0.8), aw.LinearConstraint({"x": 1, "k": 1}, upper=3.5))
    search = Search(space.decisions, limits)
    peaks, original = [], gains._peaks

    def kept(*given):
        peaks.append(original(*given))
        return peaks[-1]

    monkeypatch.setattr(gains, "_peaks", kept)
    chosen = search.sample(1, torch.Generator().manual_seed(0))[0]
    monkeypatch.setattr(type(view.belief), "incumbents", lambda self, count: search.sample(2, torch.Generator()))
    found = gain_left(view.belief, chosen, search)
    assert 0 <= found.possible < math.inf
    ((points, _),) = peaks
    assert search.region.feasible(points.numpy()).all()
    torch.testing.assert_close(space.decisions.snap(points), points)


def test_climbs_reach_the_peaks_of_a_fine_grid():
    space = aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1), c=aw.Context(0, 1))
    view = study(space).outlook()
    generator = torch.Generator().manual_seed(0)
    samples = gains._Samples.drawn(view.belief, generator)
    grid = torch.cartesian_prod(*[torch.linspace(0, 1, 41, dtype=torch.float64)] * 2)
    on_grid = samples.shared(grid)
    compared = view.chosen[None]
    points, peaks = gains._peaks(samples, compared, view.search, samples.shared(compared), generator)
    torch.testing.assert_close(samples.own(points[:, None])[:, 0], peaks)
    spread = on_grid.amax(1) - on_grid.amin(1)
    short = (on_grid.amax(1) - peaks) / spread
    assert (short < 0.01).double().mean() > 0.95


def test_samples_have_the_moments_of_the_posterior():
    space = aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1), c=aw.Context(0, 1))
    view = study(space, surrogate=aw.GP("matern"), context=aw.Finite([{"c": 0.2}, {"c": 0.7}])).outlook()
    belief = view.belief
    for averaged in (None, belief.averaged):
        posterior = averaged or belief.surrogate
        parts = getattr(posterior, "parts", (posterior,) * 32)
        paths = gains.SeparatePaths.drawn(parts, 4096 // len(parts), torch.Generator().manual_seed(0))
        decisions = torch.rand(5, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        left = paths.of_decisions(decisions.expand(len(parts), -1, -1))
        right = paths.of_contexts(belief.reference.points)
        values = paths.outcomes(torch.einsum("gbm,gkm,gmn->gkbn", left, paths.weights, right)).flatten(0, 1)
        mean, sd = posterior.field(belief.reference.points)(decisions)
        assert ((values.mean(0) - mean).abs() < 0.1 * sd + 1e-6).all()
        assert ((values.std(0) / sd - 1).abs() < 0.15).all()


def test_where_the_model_is_too_poor_to_tell_it_is_infinite():
    space = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
    assert study(space, t=4).recommend().possible_gain == math.inf
    assert study(space, t=8).recommend().possible_gain < math.inf
