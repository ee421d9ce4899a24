"""Tensors stay on the device of what is given: found out without a GPU (see `pretend_device`)."""

import pytest
import torch
from tests.pretend_device import DEVICE, Mixed, PretendDevice, there

import allweather as aw
from allweather.contexts import Reference
from allweather.objectives import Band

DISTANCES = {
    "total variation": aw.TotalVariation(0.2),
    "chi-squared": aw.ChiSquared(0.2),
    "kl": aw.KL(0.2),
    "mmd": aw.MMD(0.2),
    "wasserstein": aw.Wasserstein(0.2),
    "phi": aw.Phi(0.2, lambda u: (u - 1) ** 2, lambda s: torch.where(s > -2, s + s**2 / 4, -1.0)),
}
MEASURES = {
    "expectation": aw.Expectation(),
    "worst case": aw.WorstCase(),
    "cvar": aw.CVaR(0.3),
    "var": aw.VaR(0.3),
    "entropic": aw.EntropicRisk(1.0),
    "mean-variance": aw.MeanVariance(1.0),
    "variance": aw.VarianceRegularised(0.2),
    "range": aw.RangeRegularised(0.2),
    "lipschitz": aw.LipschitzRegularised(0.2),
}
OF_DISTANCES = {
    "dro": aw.DRO,
    "general": lambda distance: aw.General(0.5, 0.5, distance),
    "satisficing": lambda distance: aw.RobustSatisficing(-0.2, distance),
}
OBJECTIVES = MEASURES | {
    f"{name} {kind}": build(distance) for kind, distance in DISTANCES.items() for name, build in OF_DISTANCES.items()
}


def _example() -> tuple[torch.Tensor, Reference]:
    source = torch.Generator().manual_seed(0)
    points = torch.rand(9, 2, generator=source, dtype=torch.float64)
    return torch.randn(3, 9, generator=source, dtype=torch.float64), Reference(points, torch.full((9,), 1 / 9).double())


def test_mixed_devices_are_found():
    with PretendDevice():
        with pytest.raises(Mixed):
            there(torch.ones(2)) + torch.ones(2)
        with pytest.raises(Mixed):
            torch.randn(2, generator=torch.Generator(), device=DEVICE)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_objectives_follow_their_values(name: str):
    objective, (values, reference) = OBJECTIVES[name], _example()
    values.requires_grad_()
    expected = objective.upper(Band(values, 0 * values.detach()), reference)
    (slope,) = torch.autograd.grad(expected.sum(), values)
    with PretendDevice():
        moved, there_too = there(values), Reference(there(reference.points), there(reference.weights))
        found = objective.upper(Band(moved, 0 * moved.detach()), there_too)
        (gradient,) = torch.autograd.grad(found.sum(), moved)
        assert objective(moved.detach(), there_too).device == found.device == gradient.device == DEVICE
        torch.testing.assert_close(found.detach().cpu(), expected.detach())
        torch.testing.assert_close(gradient.cpu(), slope)


@pytest.mark.parametrize("name", DISTANCES)
def test_distances_follow_their_reference(name: str):
    distance, (values, reference) = DISTANCES[name], _example()
    expected = distance.worst_case(values, reference).weights
    with PretendDevice():
        moved = Reference(there(reference.points), there(reference.weights))
        worst = distance.worst_case(there(values), moved)
        apart, furthest = distance.between(worst.weights, moved), distance.to_points(moved)
        assert worst.value.device == apart.device == furthest.device == DEVICE
        torch.testing.assert_close(worst.weights.cpu(), expected)
        torch.testing.assert_close(apart.cpu(), distance.between(expected, reference))
        torch.testing.assert_close(furthest.cpu(), distance.to_points(reference))


SPACE = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
ROWS = [{"x": (k % 7) / 6, "c": (k % 5) / 4, "value": -(((k % 7) / 6 - 0.4) ** 2) + 0.1 * (k % 3)} for k in range(12)]
COMPOSITIONS = {
    "default": {},
    "transformed": {"objective": aw.Expectation()},
    "thompson": {"objective": aw.CVaR(0.3), "acquisition": aw.Thompson(), "surrogate": aw.GP("matern52")},
    "candidates": {"candidates": [{"x": k / 8} for k in range(9)], "acquisition": aw.UCB()},
}
CONTROLLED = {
    "default": {},
    "thompson": {"objective": aw.CVaR(0.3), "acquisition": aw.Thompson()},
    "improvement": {"acquisition": aw.ExpectedImprovement(8)},
    "gradient": {"objective": aw.Expectation(), "acquisition": aw.KnowledgeGradient()},
    "information": {
        "objective": aw.Expectation(),
        "rule": aw.InformationPerCost(0.01),
        "surrogate": aw.GP("matern", draws=4),
    },
}


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.slow
def test_studies_compute_on_their_device_and_decide_the_same(name: str, monkeypatch):
    given = {"context": aw.KDE(16), "initial": 3, **COMPOSITIONS[name]}
    rows = [{**row, "value": row["value"] ** 9 * 1e4} for row in ROWS] if name == "transformed" else ROWS
    here = aw.Study(SPACE, **given)
    here.add(rows)
    expected, recommended = here.ask(2), here.recommend()
    with PretendDevice():
        elsewhere = aw.Study(SPACE, device="meta", **given)
        elsewhere.add(rows)
        found, best = elsewhere.ask(2), elsewhere.recommend()
        assert (
            elsewhere._engine.posterior(elsewhere.history)
            .field(there(torch.rand(2, 1).double()))
            .mean(there(torch.rand(1, 1).double()))
            .device
            == DEVICE
        )
        assert elsewhere.check().explained == pytest.approx(here.check().explained)
    for one, other in zip(found, expected, strict=True):
        assert one.decision == pytest.approx(other.decision, abs=1e-6)
    assert best.decision == pytest.approx(recommended.decision, abs=1e-6)
    assert best.interval == pytest.approx(recommended.interval, abs=1e-6)
    assert elsewhere.spec == here.spec


@pytest.mark.parametrize("name", CONTROLLED)
@pytest.mark.slow
def test_studies_with_control_sets_compute_on_their_device(name: str):
    given = {"context": aw.KDE(16), "initial": 3, **CONTROLLED[name]}
    control = aw.Control({"x": 0.2, ("x", "c"): 1.0}, 20, given.pop("rule", aw.BestValue()))
    space = aw.Space(x=aw.Real(0, 1), c=aw.Real(0, 1))
    here = aw.Study(space, control=control, **given)
    here.add(ROWS)
    expected, recommended = here.ask(2), here.recommend()
    with PretendDevice():
        elsewhere = aw.Study(space, control=control, device="meta", **given)
        elsewhere.add(ROWS)
        found, best = elsewhere.ask(2), elsewhere.recommend()
    for one, other in zip(found, expected, strict=True):
        assert one.decision == pytest.approx(other.decision, abs=1e-6)
    assert best.decision == pytest.approx(recommended.decision, abs=1e-6)
    assert best.interval == pytest.approx(recommended.interval, abs=1e-6)


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(aw.InvalidInput, match=r"Study\(device=...\)"):
        aw.Study(SPACE, device="nowhere")
