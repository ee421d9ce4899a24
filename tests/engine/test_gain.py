"""What is left to gain, against what is true and what decisions are legal."""

import math

import numpy as np
import pytest
import torch
from benchmarks.possible_gain import PRIOR, SINE, gain_by_brute_force, held

import allweather as aw
from allweather.acquisition.optimize import Search
from allweather.engine import gain as gains
from allweather.engine import sampled_peaks
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
    found_peaks, original = [], sampled_peaks.peaks

    def kept(*given):
        found_peaks.append(original(*given))
        return found_peaks[-1]

    monkeypatch.setattr(gains, "peaks", kept)
    chosen = search.sample(1, torch.Generator().manual_seed(0))[0]
    monkeypatch.setattr(type(view.belief), "incumbents", lambda self, count: search.sample(2, torch.Generator()))
    found = gain_left(view.belief, chosen, search)
    assert 0 <= found.possible < math.inf
    ((points, _),) = found_peaks
    assert search.region.feasible(points.numpy()).all()
    torch.testing.assert_close(space.decisions.snap(points), points)


def test_climbs_reach_the_peaks_of_a_fine_grid():
    space = aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1), c=aw.Context(0, 1))
    view = study(space).outlook()
    generator = torch.Generator().manual_seed(0)
    samples = sampled_peaks.Samples.drawn(view.belief, generator)
    grid = torch.cartesian_prod(*[torch.linspace(0, 1, 41, dtype=torch.float64)] * 2)
    on_grid = samples.shared(grid)
    compared = view.chosen[None]
    points, peaks = sampled_peaks.peaks(samples, compared, view.search, samples.shared(compared), generator)
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
        paths = sampled_peaks.SeparatePaths.drawn(parts, 4096 // len(parts), torch.Generator().manual_seed(0))
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


@pytest.mark.parametrize(("decisions", "trials", "steps"), [(1, 8, 101), (2, 20, 31)])
def test_the_expected_gain_is_that_of_brute_force(decisions, trials, steps):
    names = "xy"[:decisions]
    law = aw.Finite([{"c": 0.2}, {"c": 0.5}, {"c": 0.8}], [0.3, 0.4, 0.3])
    space = aw.Space(**{name: aw.Real(0, 1) for name in names}, c=aw.Context(0, 1))
    model = aw.GP("matern", outputscale="fit")
    made, source = aw.Study(space, context=law, objective=aw.Expectation(), surrogate=model), np.random.default_rng(0)
    for _ in range(trials):
        x, c = source.random(decisions), float(source.choice([0.2, 0.5, 0.8], p=[0.3, 0.4, 0.3]))
        value = -((x - 0.3 - 0.4 * c) ** 2).sum() + 0.5 * np.sin(9 * x[0]) + 0.05 * source.normal()
        made.add([{**dict(zip(names, x.tolist(), strict=True)), "c": c, "value": value}])
    view = made.outlook()
    grid = torch.cartesian_prod(*[torch.linspace(0, 1, steps, dtype=torch.float64)] * decisions).reshape(-1, decisions)
    found = view.gain()
    assert found.expected == pytest.approx(gain_by_brute_force(view, found.trial, grid), rel=0.1)
