import dataclasses
import pickle

import numpy as np
import pytest
import torch

from allweather import Context, InvalidInput, Real, Space
from allweather.problems import Problem, problem, problems

ISSUE = """gp-sample hartmann3 hartmann6 complicated-hartmann ackley ackley-4c modified-branin newsvendor
three-hump-camel six-hump-camel branin goldstein-price shift-example plant-ph infection portfolio-normal
portfolio-uniform wind robot-push branin-williams marzat-f4 marzat-f6 rare-failure queue robot-push-short"""
SMOOTH = sorted(set(ISSUE.split()) - {"newsvendor", "wind", "shift-example", "robot-push", "robot-push-short", "queue"})


def decisions_of(one: Problem, count: int) -> torch.Tensor:
    points = torch.rand(count, one.space.decisions.columns, generator=torch.Generator().manual_seed(4))
    points = points.to(torch.float64)
    return points / 2 if one.constraints else points


def test_all_are_there():
    assert set(problems()) >= set(ISSUE.split())


@pytest.mark.parametrize("name", ISSUE.split())
class TestEvery:
    def test_shapes_and_finite_values(self, name):
        one = problem(name)
        contexts = torch.from_numpy(one.sample(6, np.random.default_rng(0)))
        values = one.values(decisions_of(one, 4), contexts)
        assert one.name == name
        assert one.source
        assert values.shape == (4, 6)
        assert values.dtype == torch.float64
        assert torch.isfinite(values).all()
        assert one.values(decisions_of(one, 0), contexts).shape == (0, 6)

    def test_a_batch_is_a_loop(self, name):
        one = problem(name)
        contexts, decisions = one.truth(8).points[:8], decisions_of(one, 3)
        values = one.values(decisions, contexts)
        loop = [[one.values(x[None], c[None]).item() for c in contexts] for x in decisions]
        torch.testing.assert_close(values, torch.tensor(loop, dtype=torch.float64), rtol=1e-10, atol=1e-10)

    def test_the_same_again(self, name):
        one, two = problem(name), problem(name)
        x, c = decisions_of(one, 2), one.truth(16).points
        assert torch.equal(one.values(x, c), two.values(x, c))
        assert torch.equal(c, two.truth(16).points)
        assert np.array_equal(one.sample(5, np.random.default_rng(3)), two.sample(5, np.random.default_rng(3)))
        assert not np.array_equal(one.sample(50, np.random.default_rng(3)), one.sample(50, np.random.default_rng(4)))

    def test_draws_are_legal_and_observed_without_bias(self, name):
        one, rng = problem(name), np.random.default_rng(5)
        decision = one.space.decisions.decode(decisions_of(one, 1))[0]
        for _ in range(3):
            context = one.draw(rng)
            outcome = one.observe(decision, context, rng)
            exact = one.values(one.space.decisions.encode(decision), one.space.contexts.encode(context)).item()
            assert abs(outcome - exact) <= 6 * one.noise

    def test_truth_is_a_law_and_that_of_the_draws(self, name):
        one = problem(name)
        points, weights = one.truth(1024)
        assert weights.sum().item() == pytest.approx(1)
        assert ((points >= 0) & (points <= 1)).all()
        draws = one.sample(4000, np.random.default_rng(0))
        assert draws.min() >= 0
        assert draws.max() <= 1
        for moment in (1, 2):
            np.testing.assert_allclose((draws**moment).mean(0), weights @ points**moment, atol=0.03)

    def test_what_the_learner_is_told_fits(self, name):
        one = problem(name)
        assert (one.belief is None) == (name not in {"gp-sample", "hartmann3", "plant-ph", "infection", "wind"} | SHIFT)
        if one.belief is not None:
            told = one.belief.on(one.space).reference(torch.empty(0, 1), 0, torch.Generator())
            assert ((told.points >= 0) & (told.points <= 1)).all()
        if one.margins:
            torch.testing.assert_close(told.points, one.truth().points)
            total = (told.weights - one.truth().weights).abs().sum().item()
            assert one.margins["tv"] == pytest.approx(total)
        if one.candidates is not None:
            rows = one.space.decisions.decode(one.candidates)
            assert all(each.holds(row, 1e-9) for row in rows for each in one.constraints)

    def test_workers_can_receive_it(self, name):
        one = problem(name)
        copy = pickle.loads(pickle.dumps(one))
        x, c = decisions_of(one, 2), one.truth(4).points[:4]
        assert torch.equal(copy.values(x, c), one.values(x, c))


SHIFT = {"shift-example"}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_in_decisions(name):
    one = problem(name)
    x = decisions_of(one, 2).requires_grad_()
    contexts = one.truth(4).points[:4]
    (gradient,) = torch.autograd.grad(one.values(x, contexts).sum(), x)
    assert torch.isfinite(gradient).all()
    step = 1e-6
    for column in range(x.shape[1]):
        move = torch.zeros_like(x)
        move[:, column] = step
        with torch.no_grad():
            slope = (one.values(x + move, contexts) - one.values(x - move, contexts)).sum(1) / (2 * step)
        torch.testing.assert_close(gradient[:, column], slope, rtol=1e-4, atol=1e-4)


def test_the_gradient_at_the_peak_is_finite():
    x = torch.full((1, 2), 0.5, dtype=torch.float64, requires_grad=True)
    ackley = problem("ackley")
    values = ackley.values(x, torch.tensor([[0.5]]))
    assert values.item() == pytest.approx(0, abs=1e-12)
    assert torch.isfinite(torch.autograd.grad(values.sum(), x)[0]).all()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: problem("newsvender"), "did you mean 'newsvendor'?"),
        (lambda: problem("zzz"), "known are ackley,"),
        (lambda: problem(3), "knows no 3"),
        (lambda: problem("ackley", seed=1), "`problem('ackley', ...)` must have options among ['sd'], got ['seed']"),
        (lambda: problem("newsvendor", sd=1), "must have no options"),
        (lambda: problem("ackley", sd=0), "`problem('ackley', sd=...)` must be a finite number, greater than 0"),
        (lambda: problem("branin", law="gamma"), "`problem('branin', law=...)` must be one of ['uniform', 'normal']"),
        (lambda: problem("gp-sample", seed=-1), "`problem('gp-sample', seed=...)`"),
        (lambda: problem("robot-push", goal=(9, 0)), "`problem('robot-push', goal=...)` must be two numbers"),
        (lambda: problem("branin").values([[0.1]], [[2.0]]), "`branin.values(contexts=...)` must lie in the unit cube"),
        (lambda: problem("branin").values([[0.1, 0.2]], [[0.5]]), "must have shape (rows, 1), got (1, 2)"),
        (lambda: problem("branin").truth(0), "`branin.truth(n=...)`"),
        (lambda: dataclasses.replace(problem("branin"), noise=-1.0), "`Problem(noise=...)`"),
        (lambda: dataclasses.replace(problem("branin"), space=Space(x=Real(0, 1))), "`Problem(space=...)`"),
    ],
)
def test_bad_input_is_named(make, said):
    with pytest.raises(InvalidInput) as error:
        make()
    assert said in str(error.value)


def test_a_law_that_can_only_be_sampled():
    one = Problem(
        name="own",
        space=Space(x=Real(0, 1), c=Context(0, 1)),
        function=lambda x, c: x + c.T,
        sample=lambda n, rng: rng.beta(2, 2, size=(n, 1)),
        noise=0.5,
    )
    assert torch.equal(one.truth(9).points, one.truth(9).points)
    outcomes = [one.observe({"x": 0.5}, {"c": 0.5}, np.random.default_rng(i)) for i in range(400)]
    assert np.mean(outcomes) == pytest.approx(1, abs=0.1)
    assert np.std(outcomes) == pytest.approx(0.5, abs=0.05)
