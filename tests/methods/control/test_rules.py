"""Rules against the steps of the papers, written out."""

import itertools

import numpy as np
import pytest
import torch

from allweather import (
    GP,
    UCB,
    BestValue,
    Control,
    ControlSet,
    CostAdaptive,
    Expectation,
    ExploreThenCommit,
    Finite,
    GainPerCost,
    InvalidInput,
    NearBest,
    PowerLaw,
    Real,
    Space,
    Study,
    ValuePerCost,
)
from allweather.methods.control import Ledger, Offer

LEVELS = np.linspace(0, 1, 4)
NAMES = ("a", "b", "c")
SETS = (("a",), ("b",), ("a", "b"), ("b", "c"), ("a", "b", "c"))
LENGTHSCALE, NOISE, WIDTH = 0.3, 0.1, 2.0
GRID = np.array(list(itertools.product(LEVELS, repeat=3)))
PROBABILITY = np.array([0.1, 0.4, 0.3, 0.2])


def function(a, b, c):
    return np.sin(5 * a) + b * np.cos(4 * c) - (a - c) ** 2


def likelihood(point, left):
    """The probability of the values that are left alone."""
    places = [round(3 * point[NAMES.index(name)]) for name in left]
    return float(np.prod(PROBABILITY[places])) if left else 1.0


def upper_bounds(points, values):
    """mu + 2 sigma at all grid points, from the textbook."""
    kernel = lambda x, y: np.exp(-0.5 * ((x[:, None] - y) ** 2).sum(-1) / LENGTHSCALE**2)  # noqa: E731
    inverse = np.linalg.inv(kernel(points, points) + NOISE**2 * np.eye(len(points)))
    near = kernel(GRID, points)
    return near @ inverse @ values + WIDTH * np.sqrt(1 - np.einsum("ij,jk,ik->i", near, inverse, near))


def algorithm_1(points, values, costs, epsilon):
    """Steps 3 to 6 of subsets, Alg. 1, written out: the control set and the values of its variables."""
    bound = upper_bounds(points, values)
    best = {}
    for i, chosen in enumerate(SETS):
        left = [name for name in NAMES if name not in chosen]
        expected = {}
        for query in itertools.product(LEVELS, repeat=len(chosen)):
            fits = [all(p[NAMES.index(n)] == v for n, v in zip(chosen, query, strict=True)) for p in GRID]
            expected[query] = sum(likelihood(p, left) * u for p, u, fit in zip(GRID, bound, fits, strict=True) if fit)
        best[i] = max(expected.items(), key=lambda item: item[1])
    g = max(value for _, value in best.values())
    first = [i for i, (_, value) in best.items() if value + epsilon >= g]
    second = [i for i in first if costs[i] == min(costs[j] for j in first)]
    i = max(second, key=lambda i: best[i][1])
    return SETS[i], best[i][0]


@pytest.mark.parametrize("costs", [(0.5, 0.1, 0.1, 0.3, 1.0), (0.2, 0.2, 0.2, 0.2, 0.2), (1.0, 0.3, 0.9, 0.2, 0.5)])
@pytest.mark.parametrize("schedule", [lambda t: 1.5 / t**0.5, lambda t: 0.3 if t % 3 else 2.0])
def test_the_eps_schedule_makes_the_same_choices_as_algorithm_1(costs, schedule):
    space = Space(a=Real(0, 1), b=Real(0, 1), c=Real(0, 1))
    rows = [dict(zip(NAMES, point, strict=True)) for point in GRID.tolist()]
    natural = Finite(rows, [likelihood(point, NAMES) for point in GRID])
    control = Control(dict(zip(SETS, costs, strict=True)), rule=NearBest(schedule))
    surrogate = GP(lengthscales=LENGTHSCALE, outputscale=1.0, noise=NOISE, mean=0.0)
    study = Study(
        space,
        control=control,
        context=natural,
        objective=Expectation(),
        acquisition=UCB(WIDTH),
        surrogate=surrogate,
        candidates=rows,
        initial=1,
    )
    rng = np.random.default_rng(3)
    points = GRID[rng.choice(64, 3, replace=False)]
    values = np.array([function(*p) for p in points])
    study.add([{**dict(zip(NAMES, p, strict=True)), "value": v} for p, v in zip(points.tolist(), values, strict=True)])
    played = []
    for step in range(1, 31):
        trial = study.ask()
        expected = algorithm_1(points, values, costs, schedule(step))
        assert (tuple(trial.decision), tuple(trial.decision.values())) == (expected[0], pytest.approx(expected[1]))
        context = {name: float(rng.choice(LEVELS, p=PROBABILITY)) for name in trial.left}
        point = np.array([{**trial.decision, **context}[name] for name in NAMES])
        value = function(*point) + 0.1 * rng.standard_normal()
        study.tell(trial, value, context=context)
        points, values = np.vstack([points, point]), np.append(values, value)
        played.append(tuple(trial.decision))
    assert len(set(played)) > 1 or len(set(costs)) == 1


def offers(**scores):
    costs = {"a": 0.1, "b": 0.1, "ab": 0.5, "abc": 1.0}
    return [Offer(ControlSet(tuple(name), costs[name]), torch.zeros(1), score) for name, score in scores.items()]


def ledger(*played, budget=None, lowest=0.0, spend=False):
    sets = [offer.control for offer in offers(a=0, b=0, ab=0, abc=0)]
    costs = {each.variables: each.cost for each in sets}
    return Ledger.of(sets, budget, [(tuple(name), costs[tuple(name)]) for name in played], lowest, spend)


def test_the_best_value_ignores_costs():
    assert BestValue().pick(offers(a=1, b=2, ab=2.5, abc=3), ledger()).control.variables == ("a", "b", "c")


@pytest.mark.parametrize(
    ("epsilon", "chosen"), [(0.0, "abc"), (0.5, "ab"), (1.0, "b"), (2.0, "b"), (lambda t: 0.5 * t, "ab")]
)
def test_the_cheapest_that_is_near_enough(epsilon, chosen):
    pick = NearBest(epsilon).pick(offers(a=1, b=2, ab=2.5, abc=3), ledger())
    assert "".join(pick.control.variables) == chosen


def test_epsilon_may_be_a_schedule_and_counts_plays_from_one():
    rule = NearBest(PowerLaw(1.0, 1.0))
    assert "".join(rule.pick(offers(a=2.5, abc=3), ledger()).control.variables) == "a"
    assert "".join(rule.pick(offers(a=2.5, abc=3), ledger("a", "a")).control.variables) == "abc"
    with pytest.raises(InvalidInput, match=r"NearBest\(epsilon=\.\.\.\) at play 1"):
        NearBest(lambda t: -1.0).pick(offers(a=1), ledger())


def test_explore_then_commit_plays_cheap_groups_first_and_the_dearest_never_for_exploring():
    rule = ExploreThenCommit(2)
    names = lambda sets: ["".join(each.variables) for each in sets]  # noqa: E731
    assert names(rule.eligible(ledger())) == ["a", "b"]
    assert names(rule.eligible(ledger("a"))) == ["a", "b"]
    assert names(rule.eligible(ledger("a", "b"))) == ["ab"]
    assert names(rule.eligible(ledger("a", "b", "ab", "ab"))) == ["a", "b", "ab", "abc"]
    assert names(rule.eligible(ledger("a", budget=0.4))) == ["a", "b"]
    assert names(rule.eligible(ledger("a", "a", budget=0.4))) == ["ab"]
    assert names(rule.eligible(ledger("a", "a", budget=0.4, spend=True))) == ["a", "b"]


@pytest.mark.parametrize(("cost", "plays"), [(0.01, 400), (0.1, 40), (0.2, 20), (0.6, 6), (0.8, 5), (3.0, 1), (5.0, 0)])
def test_cost_adaptive_plays(cost, plays):
    for unit in (1, 1000):  # whatever money is measured in
        set_, dearest = ControlSet(("a",), unit * cost), ControlSet(("b",), unit)
        assert CostAdaptive().plays_at(set_.exact_cost, dearest.exact_cost) == plays


def test_per_unit_cost_as_published_prefers_dear_sets_where_values_are_negative_and_the_sound_one_does_not():
    negative = offers(a=-1.0, ab=-1.0, abc=-1.0)
    assert ValuePerCost().pick(negative, ledger()).control.cost == 1.0
    assert GainPerCost().pick(negative, ledger(lowest=-5.0)).control.cost == 0.1
    positive = offers(a=1.0, ab=6.0, abc=11.0)
    assert ValuePerCost().pick(positive, ledger()).control.cost == 0.5
    for shift in (-100.0, 0.0, 7.0):
        moved = offers(a=1.0 + shift, ab=6.0 + shift, abc=11.0 + shift)
        assert GainPerCost().pick(moved, ledger(lowest=shift)).control.cost == 0.5
    assert GainPerCost().pick(offers(a=-3.0, abc=-2.0), ledger(lowest=-1.0)).control.cost == 1.0


def test_logarithms_of_gains_are_divided_as_gains():
    logs = [offer._replace(score=float(np.log(offer.score)), logarithmic=True) for offer in offers(a=0.2, abc=1.9)]
    assert ValuePerCost().pick(logs, ledger()).control.cost == 0.1
