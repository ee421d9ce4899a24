"""What is left to gain with limits and several objectives, against brute force on a fine grid."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP

import allweather as aw
from allweather.acquisition.scalarisation import objective_units
from allweather.engine import joint_gain as gains
from allweather.engine.front import weigh
from allweather.engine.joint_gain import joint_gain
from allweather.surrogates.botorch_model import BoTorch

LAW = aw.Finite([{"c": 0.2}, {"c": 0.5}, {"c": 0.8}], [0.3, 0.4, 0.3])
LIMITS = {
    "mean": aw.AtMost(0.6),
    "tail": aw.AtMost(0.7, aw.CVaR(0.4)),
    "chance": aw.AtMost(0.7, probability=0.7),
    "chance under shifts": aw.AtMost(0.7, probability=0.4, distance=aw.TotalVariation(0.2)),
}


def study(wanted, decisions=2, count=16, context=LAW, space=None, **options):
    """Random trials: the yield is best where x + y is 1.4, the waste grows with x, y and the context."""
    names = "xy"[:decisions]
    space = space or aw.Space(**{name: aw.Real(0, 1) for name in names}, c=aw.Context(0, 1))
    made, source = aw.Study(space, outcomes=wanted, context=context, seed=5, **options), np.random.default_rng(2)
    rows = []
    for _ in range(count):
        x, y = source.random(decisions), float(source.choice([0.2, 0.5, 0.8]))
        grown = -((x.mean() - 0.7) ** 2) * 4 + 0.2 * np.sin(7 * x[0]) + 0.1 * y
        waste = x.mean() + 0.3 * (y - 0.5) + 0.1 * np.sin(5 * x[-1])
        rows.append({**dict(zip(names, x.tolist(), strict=True)), "c": y, "grown": grown, "waste": waste})
    if rows:
        made.add(rows)
    return made


def samples_of(view):
    """The samples that the possible gain is computed from."""
    caught = {}
    original = gains._best_kept

    def kept(samples, *given):
        caught.update(samples=samples, best=original(samples, *given))
        return caught["best"]

    patch = pytest.MonkeyPatch()
    patch.setattr(gains, "_best_kept", kept)
    caught["gain"] = joint_gain(view.joint, view.chosen, view.search, view.weights, view.point)
    patch.undo()
    return SimpleNamespace(**caught)


def on_grid(samples, grid):
    """The best value (k,) of each sample that keeps all limits."""
    return samples.judge([part.shared(grid) for part in samples.parts]).kept.amax(1)


def grid_of(columns, count):
    return torch.cartesian_prod(*[torch.linspace(0, 1, count, dtype=torch.float64)] * columns).reshape(-1, columns)


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("decisions", [1, 2])
def test_the_best_decision_that_keeps_a_limit_is_that_of_a_fine_grid(limit, decisions):
    view = study({"grown": aw.Maximize(), "waste": limit}, decisions).outlook()
    found = samples_of(view)
    truth = on_grid(found.samples, grid_of(decisions, (2001, 61)[decisions - 1]))
    spread = view.joint.objectives[0].observations.values.std()
    short = (truth - found.best)[truth.isfinite()] / spread
    assert (short < 0.02).double().mean() >= 0.9
    assert (short > -0.05).all()  # the grid is not infinitely fine
    first = found.samples.judged(view.chosen.expand(len(truth), 1, -1)).values[:, 0]
    expected = (truth - first).clamp_min(0).quantile(0.95, interpolation="higher")
    assert found.gain == pytest.approx(float(expected), rel=0.1, abs=0.02 * float(spread))


WEIGHED = {
    "equal weights": {},
    "weights": {"weights": {"grown": 3, "waste": 1}},
    "reference point": {"reference_point": {"grown": -0.2, "waste": 0.4}},
}


@pytest.mark.parametrize("given", WEIGHED.values(), ids=WEIGHED)
def test_several_objectives_are_weighed_as_in_the_recommendation(given):
    made = study({"grown": aw.Maximize(), "waste": aw.Minimize()})
    view = weigh(made.outlook(), given.get("weights"), given.get("reference_point"))
    found, grid = samples_of(view), grid_of(2, 61)
    outcomes = [part.shared(grid).numpy() for part in found.samples.parts]  # both larger is better
    first = [part.own(view.chosen.expand(64, 1, -1)).numpy() for part in found.samples.parts]
    ideal, units = (each.numpy() for each in objective_units(view.joint.objectives, view.joint.tried()))
    shares = np.array({"weights": [0.75, 0.25]}.get(next(iter(given), ""), [0.5, 0.5]))
    start = np.array([-0.2, -0.4]) if "reference_point" in given else ideal

    def scalar(values):
        weighed = shares * (np.stack(values, -1) - start) / units
        return weighed.min(-1) + 0.05 * weighed.sum(-1)

    gained = np.maximum(scalar(outcomes).max(1) - scalar(first)[:, 0], 0) / (0.5 + 0.05)
    assert found.gain == pytest.approx(np.quantile(gained, 0.95, method="higher"), rel=0.1, abs=0.01)
    assert made.recommend(**given).possible_gain == pytest.approx(found.gain)


def test_an_improvement_of_every_objective_by_its_range_is_a_gain_of_one():
    view = study({"grown": aw.Maximize(), "waste": aw.Minimize()}).outlook()
    judge = gains._Judge.of(view.joint, view.joint.tried(), None, None)
    values = [torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)]
    better = [each + width for each, width in zip(values, judge.ranges, strict=True)]
    assert float((judge(better).values - judge(values).values) / judge.unit) == pytest.approx(1)


def test_only_legal_decisions_count_with_limits(monkeypatch):
    space = aw.Space(x=aw.Real(0, 1), k=aw.Integer(0, 4), o=aw.Choice("a", "b"), c=aw.Context(0, 1))
    rule = (aw.LinearConstraint({"x": 1, "k": 0.25}, upper=1.2),)
    made = aw.Study(space, outcomes={"a": aw.Maximize(), "b": aw.AtMost(1.0)}, constraints=rule, seed=1)
    source = np.random.default_rng(0)
    for _ in range(14):
        x, k, o, c = source.random() * 0.2, int(source.integers(5)), str(source.choice(["a", "b"])), source.random()
        made.add([{"x": x, "k": k, "o": o, "c": c, "a": x + k / 4 + (o == "b"), "b": x + 0.2 * c + k / 8}])
    offered, original = [], gains._JointSamples.judged

    def judged(self, decisions):
        offered.append(decisions)
        return original(self, decisions)

    monkeypatch.setattr(gains._JointSamples, "judged", judged)
    assert 0 <= made.recommend().possible_gain < math.inf
    (search,) = {made.outlook().search}
    for points in offered:
        flat = points.flatten(0, 1)
        assert search.region.feasible(flat.numpy()).all()
        torch.testing.assert_close(space.decisions.snap(flat), flat)


def test_where_all_decisions_are_listed_all_are_compared():
    space = aw.Space(x=aw.Integer(0, 6), y=aw.Integer(0, 6), c=aw.Context(0, 1))
    made, source = aw.Study(space, outcomes={"a": aw.Maximize(), "b": aw.AtMost(9.0)}, seed=1), np.random.default_rng(0)
    for _ in range(14):
        x, y, c = int(source.integers(7)), int(source.integers(7)), source.random()
        made.add([{"x": x, "y": y, "c": c, "a": np.sin(x) * y + c, "b": x + y + c}])
    found = samples_of(made.outlook())
    listed = space.decisions.encode([{"x": x, "y": y} for x in range(7) for y in range(7)])
    torch.testing.assert_close(found.best, on_grid(found.samples, listed))


@pytest.mark.parametrize(
    "limit",
    [aw.AtMost(0.6, aw.DRO(aw.MMD(0.1))), aw.AtMost(0.6, surrogate=BoTorch(SingleTaskGP))],
    ids=["MMD", "BoTorch"],
)
def test_samples_that_cannot_be_maximised_are_compared_at_candidates(limit):
    view = study({"grown": aw.Maximize(), "waste": limit}, 1, 20).outlook()
    few = joint_gain(view.joint, view.chosen, view.search)
    plain = study({"grown": aw.Maximize(), "waste": aw.AtMost(0.6)}, 1, 20).outlook()
    assert 0 <= few < 3 * joint_gain(plain.joint, plain.chosen, plain.search) + 0.3


def test_outcomes_share_their_context_distributions_and_not_the_order_of_hyperparameters():
    view = study({"grown": aw.Maximize(), "waste": aw.AtMost(0.6)}, context=aw.KDE(32)).outlook()
    one, other = samples_of(view).samples.parts
    torch.testing.assert_close(one.laws, other.laws)
    assert not bool((one.laws == one.laws[:1, :1]).all())
    scales = [part.paths.lengthscales[:, 0].argsort() for part in (one, other)]
    assert not bool((scales[0] == scales[1]).all())


def test_where_the_model_is_too_poor_to_tell_with_limits_it_is_infinite():
    wanted = {"grown": aw.Maximize(), "waste": aw.AtMost(0.6)}
    assert study(wanted, count=4).recommend().possible_gain == math.inf
    best = study(wanted | {"waste": aw.AtMost(-5.0)}).recommend()
    assert best.possible_gain == math.inf
    assert "no decision is believed to keep all limits" in best.warning
    rows = [{"x": n / 8, "y": n * 3 % 8 / 8, "c": 0.5, "grown": n / 8, "waste": (-1.0) ** (n // 2)} for n in range(8)]
    noise = study(wanted | {"waste": aw.AtMost(5.0, surrogate=aw.GP(lengthscales=0.5, noise=1e-4))}, count=0)
    noise.add(rows)
    best = noise.recommend()
    assert best.possible_gain == math.inf
    assert "waste: the model predicts outcomes worse than a constant does" in best.warning
    best = study(wanted, count=20).recommend()
    assert 0 <= best.possible_gain < math.inf
    assert best.expected_gain is None
