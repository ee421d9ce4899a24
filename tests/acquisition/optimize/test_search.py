import math

import pytest
import torch
from tests.acquisition.optimize.hills import Counted, ackley, bowl, branin, hartmann

from allweather import Choice, Context, Integer, InvalidInput, Real, Space
from allweather.acquisition.optimize import Best, Search
from allweather.acquisition.optimize.scores import hinted
from allweather.space.constraints import LinearConstraint


def with_hints(function, **hints):
    """A score with hints for the search."""
    score = hinted(function)
    for name, hint in hints.items():
        setattr(score, name, hint)
    return score


def cube(d):
    return Space(**{f"x{i}": Real(0, 1) for i in range(d)}).decisions


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("function", "d", "top"), [(branin, 2, -0.39788735773), (hartmann, 6, 3.32236801141), (ackley, 2, 0.0)]
)
def test_hills_with_many_tops(function, d, top, seed):
    best = Search(cube(d)).best(function, seeded(seed))
    assert best.value == pytest.approx(top, abs=1e-6)
    assert function(best.decision[None]).item() == pytest.approx(best.value, abs=1e-14)


@pytest.mark.parametrize("d", [1, 4, 10])
def test_the_best_may_lie_on_bounds(d):
    centre = [(-0.5, 0.3, 1.5)[i % 3] for i in range(d)]
    best = Search(cube(d)).best(bowl(centre), seeded())
    expected = torch.tensor(centre, dtype=torch.float64).clamp(0, 1)
    torch.testing.assert_close(best.decision, expected, rtol=0, atol=1e-6)
    outside = [(c < 0) or (c > 1) for c in centre]
    assert torch.equal(best.decision[outside], expected[outside])


@pytest.mark.parametrize(("scale", "shift"), [(1e9, 0), (1e-9, 0), (1, 1e6), (1e-9, -3), (1e9, 1e15)])
def test_units_of_the_score_do_not_matter(scale, shift):
    best = Search(cube(2)).best(lambda u: scale * branin(u) + shift, seeded())
    tops = torch.tensor([[0.5427728, 0.1516667], [0.1238946, 0.8183333], [0.9616520, 0.1650000]], dtype=torch.float64)
    # Rounding of a shifted score leaves the root of its size in the decision.
    assert (tops - best.decision).abs().amax(-1).min() < 1e-5 + math.sqrt(1e-15 * abs(shift / scale))


def test_kinks_are_climbed():
    normals = torch.randn(12, 3, generator=seeded(), dtype=torch.float64)
    normals -= normals.mean(0)
    best = Search(cube(3)).best(lambda u: ((u - 0.4) @ normals.T).amin(-1), seeded())
    assert best.value == pytest.approx(0, abs=1e-4)


def test_flat_scores_and_scores_without_gradient():
    flat = Search(cube(2)).best(lambda u: torch.full((len(u),), 3.0), seeded())
    assert flat.value == 3
    steps = Search(cube(1)).best(lambda u: (4 * u[:, 0]).floor(), seeded())
    assert steps.value >= 3


def test_rows_without_a_score_are_avoided():
    def function(u):
        score = bowl([0.7, 0.2])(u)
        score = torch.where(u[:, 0] < 0.5, -torch.inf, score)
        return torch.where(u[:, 1] > 0.5, torch.nan, score)

    best = Search(cube(2)).best(function, seeded())
    torch.testing.assert_close(best.decision, torch.tensor([0.7, 0.2], dtype=torch.float64), rtol=0, atol=1e-6)


def test_the_best_at_the_edge_of_minus_infinity():
    best = Search(cube(2)).best(lambda u: torch.where(u[:, 0] > 0.6, -torch.inf, u.sum(-1)), seeded())
    assert best.value == pytest.approx(1.6, abs=1e-3)


def test_slopes_may_be_infinite():
    best = Search(cube(2)).best(lambda u: -u.sqrt().sum(-1), seeded())
    assert best.value > -1e-3


@pytest.mark.parametrize("bad", [-math.inf, math.nan])
def test_no_score_at_all(bad):
    best = Search(cube(2)).best(lambda u: u.sum(-1) * 0 + bad, seeded())
    assert best.value == -math.inf
    assert bool(((best.decision >= 0) & (best.decision <= 1)).all())


def test_same_seed_same_answer():
    space = Space(x=Real(0, 1), n=Integer(0, 90), c=Choice("a", "b")).decisions
    search = Search(space, (LinearConstraint({"x": 1, "n": 0.01}, upper=1),))

    def function(u):
        return bowl([0.9, 0.6, 1, 0])(u) + 0.1 * torch.sin(20 * u).sum(-1)

    one, two = (search.best(function, seeded(5)) for _ in range(2))
    assert torch.equal(one.decision, two.decision)
    assert one.value == two.value
    assert torch.equal(search.sample(9, seeded(5)), search.sample(9, seeded(5)))
    assert not torch.equal(search.sample(9, seeded(5)), search.sample(9, seeded(6)))


def test_global_randomness_is_left_alone():
    before = torch.get_rng_state()
    Search(cube(2)).best(branin, seeded())
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    "function",
    [
        lambda u: 1e200 * torch.sin(9 * u).sum(-1),
        lambda u: torch.exp(500 * u).sum(-1),
        lambda u: torch.log(u - 0.3).sum(-1),
        lambda u: 1 / (u - 0.5).abs().sum(-1),
        lambda u: torch.where(u[:, 0] > 0.5, -1e300, u.sum(-1)),
        lambda u: torch.where(u[:, 0] > 0.9, torch.inf, u.sum(-1)),
        lambda u: torch.sin(9 * u.float()).sum(-1),
    ],
)
def test_wild_scores_come_back_with_the_decision_that_has_them(function):
    best = Search(cube(3), (LinearConstraint({"x0": 1, "x1": 1}, upper=1.5),)).best(function, seeded())
    assert function(best.decision[None]).item() == pytest.approx(best.value, rel=1e-6)


def test_calls_do_not_grow_with_the_number_of_starts():
    few, many = Counted(hartmann), Counted(hartmann)
    Search(cube(6), starts=4).best(few, seeded())
    Search(cube(6), starts=32).best(many, seeded())
    for counted in (few, many):
        assert counted.calls[True] <= 50
        assert counted.calls[False] == 6
        assert counted.rows[False] == 384
    assert few.rows[True] < 100
    assert many.rows[True] < 15 * 32


def test_steps_bound_the_calls():
    counted = Counted(ackley)
    Search(cube(3), steps=5).best(counted, seeded())
    assert counted.calls[True] == 5


def test_a_known_good_point_gets_a_look():
    needle = torch.tensor([[0.123, 0.456]], dtype=torch.float64)

    def function(u):
        return torch.exp(-1e5 * ((u - needle) ** 2).sum(-1))

    assert Search(cube(2), raw=16).best(function, seeded()).value < 0.5
    assert Search(cube(2), raw=16).best(function, seeded(), near=needle + 1e-3).value == pytest.approx(1)


def test_candidates_are_the_only_choice():
    grid = torch.tensor([[0.1, 0.1], [0.5, 0.9], [0.9, 0.9], [0.5, 0.9]], dtype=torch.float64)
    search = Search(cube(2), candidates=grid, block=3)
    assert torch.equal(search.best(bowl([0.5, 0.8]), seeded()).decision, grid[1])
    drawn = search.sample(6, seeded())
    assert drawn.shape == (6, 2)
    assert sorted(drawn[:4].tolist()) == sorted(grid.tolist())
    limited = Search(cube(2), (LinearConstraint({"x0": 1, "x1": 1}, upper=1),), grid)
    assert torch.equal(limited.best(bowl([0.5, 0.8]), seeded()).decision, grid[0])


def test_decisions_are_the_users_own_after_decoding():
    box = Space(a=Real(0, 3), b=Real(0, 7)).decisions
    constraint = LinearConstraint({"a": 0.3, "b": 0.7}, upper=1.1)
    best = Search(box, (constraint,)).best(lambda u: u[:, 0] + u[:, 1], seeded())
    assert isinstance(best, Best)
    assert constraint.holds(*box.decode(best.decision[None]))


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: Search(Space(x=Real(0, 1)).contexts), "at least one variable"),
        (lambda: Search("box"), "decisions of a Space"),
        (lambda: Search(Space(x=Context(0, 1)).contexts), "decisions of a Space"),
        (lambda: Search(cube(1), raw=0), "Search(raw=...)"),
        (lambda: Search(cube(1), starts=2.5), "Search(starts=...)"),
        (lambda: Search(cube(2), candidates=torch.zeros(3, 1)), "shape (m, 2)"),
        (lambda: Search(cube(2), candidates=torch.zeros(0, 2)), "shape (m, 2)"),
        (lambda: Search(Space(n=Integer(0, 2)).decisions, candidates=torch.tensor([[0.4]])), "legal"),
        (
            lambda: Search(cube(1), (LinearConstraint({"x0": 1}, lower=0.5),), torch.zeros(1, 1)),
            "meets the constraints",
        ),
        (lambda: Search(cube(1), (LinearConstraint({"y": 1}, lower=0.5),)), "among ['x0']"),
        (lambda: Search(cube(1)).best(lambda u: u, seeded()), "scores of shape (64,)"),
        (lambda: Search(cube(1)).best(lambda u: 3.0, seeded()), "scores of shape (64,)"),
        (lambda: Search(cube(1)).best(lambda u: u[:, 0], seeded(), near=torch.zeros(2)), "Search.best(near=...)"),
        (lambda: Search(cube(1)).sample(-1, seeded()), "Search.sample(n=...)"),
    ],
)
def test_mistakes_are_named(mistake, message):
    with pytest.raises(InvalidInput) as error:
        mistake()
    assert message in str(error.value)


def test_a_rough_score_only_decides_where_to_look():
    looked, exact = [], []

    def score(u):
        exact.append(len(u))
        return -((u - 0.3) ** 2).sum(-1)

    def rough(u):
        looked.append(len(u))
        return 100.0 - ((u - 0.31) ** 2).sum(-1)

    score = with_hints(score, rough=rough)
    best = Search(cube(2), raw=100).best(score, seeded())
    assert sum(looked[:2]) == 100
    assert 0 < len(exact) <= 10
    assert best.value == pytest.approx(0.0, abs=1e-9)
    assert best.decision.tolist() == pytest.approx([0.3, 0.3], abs=1e-4)


def test_a_rough_score_may_have_its_peak_elsewhere():
    def score(u):
        return branin(u)

    score = with_hints(score, rough=lambda u: branin(u) + 5 * u[:, 0])
    best = Search(cube(2)).best(score, seeded())
    assert best.value == pytest.approx(-0.39788735773, abs=1e-6)


@pytest.mark.parametrize("slack", [0.0, 0.1, 10.0])
def test_bounds_spare_scores_and_change_nothing(slack):
    scored = []

    def score(u):
        scored.extend(u.tolist())
        return branin(u)

    score = with_hints(score, bound=lambda u: branin(u) + slack * (1 + u[:, 0]))
    candidates = torch.rand(3000, 2, generator=seeded(1), dtype=torch.float64)
    best = Search(cube(2), candidates=candidates).best(score, seeded())
    assert best.value == branin(candidates).max().item()
    assert torch.equal(best.decision, candidates[branin(candidates).argmax()])
    assert len(scored) < 2000
    assert len(scored) == len({tuple(point) for point in scored})


def test_what_may_be_chosen_of_tried_decisions():
    box = Space(sand=Real(0, 1), lime=Real(0, 1)).decisions
    tried = torch.tensor([[0.2, 0.2], [0.9, 0.9], [0.5, 0.5]], dtype=torch.float64)
    feasible = Search(box, (LinearConstraint({"sand": 1, "lime": 1}, upper=1),)).permitted(tried)
    assert feasible[0].tolist() == [0.2, 0.2]
    assert (feasible.sum(-1) <= 1 + 1e-9).all()
    assert Search(box, candidates=tried[1:2]).permitted(tried).tolist() == [[0.9, 0.9]]


def test_decisions_around_one_are_legal_and_near():
    box = Space(sand=Real(0, 1), shovels=Integer(1, 9)).decisions
    search = Search(box, (LinearConstraint({"sand": 1}, upper=0.6),))
    middle = box.snap(torch.tensor([[0.59, 0.5]], dtype=torch.float64))[0]
    near = search.around(middle, 0.1, 40, torch.Generator().manual_seed(0))
    assert near[0].tolist() == middle.tolist()
    assert 10 < len(near) <= 41
    assert (near[:, 0] <= 0.6 + 1e-9).all()
    assert (near - middle).abs().max() < 0.6
    torch.testing.assert_close(near, box.snap(near))
