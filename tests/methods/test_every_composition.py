"""Any context model, objective, distance and acquisition make a method that runs, and new ones beat random search."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
import torch
from botorch.models import SingleTaskGP

import allweather as aw

SPACE = aw.Space(dose=aw.Real(0, 10), speed=aw.Integer(1, 5), heat=aw.Context(-1, 1))
LAW = scipy.stats.norm(0.1, 0.4)

CONTEXTS = {
    "known": lambda: aw.Known(LAW, samples=16, unseen=8),
    "finite": lambda: aw.Finite([{"heat": h} for h in (-0.8, -0.2, 0.3, 0.9)], [0.1, 0.3, 0.4, 0.2]),
    "empirical": lambda: aw.Empirical(unseen=8),
    "drifting": lambda: aw.Drifting(half_life=5, unseen=8),
    "kde": lambda: aw.KDE(samples=16),
    "forecast": lambda: aw.Forecast(lambda step: aw.Known(LAW, samples=16)),
}
DISTANCES = {
    "tv": lambda: aw.TotalVariation(aw.DensityRadius(0.5)),
    "chi2": lambda: aw.ChiSquared(0.2),
    "kl": lambda: aw.KL(lambda t: 0.5 / t),
    "phi": lambda: aw.Phi(0.1, phi=lambda u: (u.sqrt() - 1) ** 2, conjugate=lambda s: s / (1 - s), recession=1.0),
    "mmd": lambda: aw.MMD(0.1, lengthscale=0.3),
    "wasserstein": lambda: aw.Wasserstein(0.1),
}
WITH_DISTANCE = {
    "dro": aw.DRO,
    "general": lambda distance: aw.General(1.0, 0.5, distance),
    "wcs": aw.WorstCaseSensitivity,
    "mean-risk": lambda distance: aw.MeanRisk(0.3, distance),
    "minimax": aw.MinimaxApproximation,
    "satisficing": lambda distance: aw.RobustSatisficing(-1.0, distance),
}
WITHOUT = {
    "expectation": aw.Expectation,
    "worst-case": aw.WorstCase,
    "cvar": lambda: aw.CVaR(0.3),
    "var": lambda: aw.VaR(0.3),
    "mean-variance": lambda: aw.MeanVariance(0.2),
    "entropic": lambda: aw.EntropicRisk(1.0),
    "variance-regularised": lambda: aw.VarianceRegularised(0.3),
    "range-regularised": lambda: aw.RangeRegularised(0.3),
    "lipschitz": lambda: aw.LipschitzRegularised(0.2),
}
ACQUISITIONS = {
    "ucb": aw.UCB,
    "thompson": lambda: aw.Thompson(64),
    "improvement": lambda: aw.ExpectedImprovement(8, 32),
    "random": aw.Random,
}


def unfitted(points, outcomes):
    """A BoTorch model with the hyperparameters that it begins with: fitting is tested with the surrogate."""
    return SingleTaskGP(points, outcomes)


SURROGATES = {"rbf": aw.GP, "matern": lambda: aw.GP("matern"), "botorch": lambda: unfitted}
CHOICES = (CONTEXTS, DISTANCES, {**WITH_DISTANCE, **WITHOUT}, ACQUISITIONS, SURROGATES)


def pairs_of(row):
    """The pairs of choices in one composition; a distance counts only where the objective has one."""
    _, _, objective, _, _ = row
    places = [place for place in range(len(row)) if place != 1 or objective in WITH_DISTANCE]
    return {((i, row[i]), (j, row[j])) for i, j in itertools.combinations(places, 2)}


def covering():
    """Compositions in which every pair of choices occurs: greedily, the one with most new pairs first."""
    rng = np.random.default_rng(0)
    missing = set().union(*(pairs_of(row) for row in itertools.product(*CHOICES)))
    rows = []
    while missing:
        pool = [tuple(rng.choice(list(choice)) for choice in CHOICES) for _ in range(40)]
        # One candidate is built around a pair that is still missing.
        pair = min(missing)
        wanted = dict(pair)
        objectives = list(WITH_DISTANCE) if 1 in wanted else list(CHOICES[2])
        names = [objectives if place == 2 else list(choice) for place, choice in enumerate(CHOICES)]
        pool += [tuple(wanted.get(place, rng.choice(names[place])) for place in range(5)) for _ in range(40)]
        best = max(pool, key=lambda row: len(pairs_of(row) & missing))
        rows.append(tuple(str(name) for name in best))
        missing -= pairs_of(best)
    return rows


ROWS = covering()


def recommending():
    """Rows in which an objective meets a distance or a surrogate for the first time: enough for recommendations."""
    met, chosen = set(), set()
    for row in ROWS:
        fresh = {pair for pair in pairs_of(row) if {place for place, _ in pair} in ({1, 2}, {2, 4})} - met
        met |= fresh
        if fresh:
            chosen.add(row)
    return chosen


RECOMMENDING = recommending()


def outcome(decision, heat, noise=0.0):
    return (
        -((decision["dose"] / 10 - 0.5 - 0.3 * heat) ** 2) * decision["speed"]
        - 0.1 * abs(decision["speed"] - 3)
        + noise
    )


def test_every_pair_of_choices_is_covered():
    possible = set().union(*(pairs_of(row) for row in itertools.product(*CHOICES)))
    assert set().union(*(pairs_of(row) for row in ROWS)) == possible
    assert len(ROWS) < 150


GRID = [{"dose": dose, "speed": speed} for dose in (1.0, 4.0, 7.0, 10.0) for speed in (1, 3, 5)]
"""Decisions where each takes a search that needs a search itself."""


@pytest.mark.parametrize("row", ROWS, ids="-".join)
@pytest.mark.slow
def test_runs_and_recommends(row):
    context, distance, objective, acquisition, surrogate = row
    wanted = WITH_DISTANCE[objective](DISTANCES[distance]()) if objective in WITH_DISTANCE else WITHOUT[objective]()
    study = aw.Study(
        SPACE,
        context=CONTEXTS[context](),
        objective=wanted,
        acquisition=ACQUISITIONS[acquisition](),
        surrogate=SURROGATES[surrogate](),
        candidates=GRID if distance == "phi" or (objective, distance) == ("satisficing", "mmd") else None,
        initial=4,
        seed=1,
    )
    rng = np.random.default_rng(0)
    for _ in range(5):
        trial = study.ask()
        SPACE.decisions.encode(trial.decision)
        heat = float(LAW.rvs(random_state=rng).clip(-1, 1))
        study.tell(trial, outcome(trial.decision, heat, 0.05 * rng.standard_normal()), context={"heat": heat})
    if row not in RECOMMENDING:
        return
    best = study.recommend()
    SPACE.decisions.encode(best.decision)
    assert math.isfinite(best.expected)
    assert best.interval[0] <= best.interval[1]
    assert best.worst["worst"].sum() == pytest.approx(1)
    assert best.curve["value"].is_monotonic_decreasing or best.curve["value"].diff().max() < 1e-6


NOVEL = {
    "a KL ball around a KDE with Thompson sampling": (aw.KDE(64), aw.DRO(aw.KL(0.1)), aw.Thompson(256)),
    "a transport ball around recent contexts with UCB": (
        aw.Drifting(half_life=30, unseen=16),
        aw.DRO(aw.Wasserstein(0.05)),
        aw.UCB(1.0),
    ),
    "the worst fifth under a KDE with expected improvement": (
        aw.KDE(64),
        aw.CVaR(0.2),
        aw.ExpectedImprovement(16, 128),
    ),
}
SPREAD = aw.Space(x=aw.Real(0, 1), y=aw.Real(0, 1), c=aw.Context(0, 1))


def hill(x, y, c):
    """Good when x follows the context's law and y hedges against it."""
    return torch.exp(-8 * (x - 0.3 - 0.4 * c) ** 2) - (1 - y) * (c - 0.5).abs() - 0.4 * (y - 0.2) ** 2


def regret(study, objective, draw, steps=15):
    """The mean regret of the decisions asked for after the initial ones, under the true law."""
    contexts = torch.from_numpy(draw(np.random.default_rng(99), 400))
    truth = aw.Reference(contexts[:, None], torch.full((400,), 1 / 400, dtype=torch.float64))
    at = objective.at(aw.Progress(step=100))

    def true_objective(points):
        return at(hill(points[:, :1], points[:, 1:], contexts), truth)

    grid = torch.cartesian_prod(*2 * [torch.linspace(0, 1, 51, dtype=torch.float64)])
    best = true_objective(grid).max()
    rng = np.random.default_rng(study._engine.seed)
    asked = []
    for step in range(steps):
        trial = study.ask()
        x, y = trial.decision["x"], trial.decision["y"]
        c = float(draw(rng, 1)[0])
        study.tell(trial, float(hill(*torch.tensor([x, y, c]))) + 0.02 * rng.standard_normal(), context={"c": c})
        if step >= 6:
            asked.append([x, y])
    return float((best - true_objective(torch.tensor(asked, dtype=torch.float64))).mean())


@pytest.mark.parametrize("name", NOVEL)
@pytest.mark.slow
def test_compositions_no_paper_tried_beat_random_search(name):
    context, objective, acquisition = NOVEL[name]

    def draw(rng, n):
        return rng.beta(2, 4, n)

    def regrets(how):
        studies = [
            aw.Study(SPREAD, context=context, objective=objective, acquisition=how, initial=6, seed=seed)
            for seed in range(2)
        ]
        return [regret(study, objective, draw) for study in studies]

    ours, random = regrets(acquisition), regrets(aw.Random())
    assert np.mean(ours) < 0.6 * np.mean(random)
