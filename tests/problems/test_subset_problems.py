import dataclasses
import pickle

import numpy as np
import pytest
import torch

from allweather import InvalidInput, Space
from allweather.benchmark import SubsetJudge
from allweather.problems import SubsetProblem, load, problem
from allweather.problems.expansion import KernelExpansion
from allweather.space.variables import Context, Real

NAMES = ["gp-sample-3d", "hartmann3-subsets", "plant-5d", "airfoil"]
SYNTHETIC = NAMES[:2]
NOTHING = torch.zeros(1, 0, dtype=torch.float64)


def points(n, d, seed=0):
    return torch.rand(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", NAMES)
class TestEvery:
    def test_is_what_the_paper_says(self, name):
        one = problem(name)
        assert isinstance(one, SubsetProblem)
        assert one.name == name
        assert one.source
        assert one.initial == 5
        assert one.noise == 0.01
        assert one.control.budget == (200 if name == "plant-5d" else 50)
        assert [each.cost for each in one.control.sets] == [0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 1.0]
        assert one.surrogate.lengthscales == (0.1 if name in SYNTHETIC else 0.2)

    def test_the_function_and_what_is_observed(self, name):
        one, rng = problem(name), np.random.default_rng(0)
        x = points(6, len(one.space.variables))
        values = one.at(x)
        assert values.shape == (6,)
        assert torch.isfinite(values).all()
        (row,) = one.space.decisions.decode(x[:1])
        some = list(row)[:2]
        decision = {key: row[key] for key in some}
        left = {key: row[key] for key in row if key not in some}
        outcomes = [one.observe(decision, left, rng) for _ in range(50)]
        assert np.mean(outcomes) == pytest.approx(values[0].item(), abs=0.01)
        assert np.std(outcomes) == pytest.approx(0.01, abs=0.005)

    def test_free_initial_data(self, name):
        one = problem(name)
        rows, again = (one.initial_data(np.random.default_rng(1)) for _ in range(2))
        assert rows == again
        assert len(rows) == 5
        for row in rows:
            value = row.pop("value")
            assert value == pytest.approx(one.at(one.space.decisions.encode(row)).item(), abs=0.06)

    @pytest.mark.parametrize("variance", [0.02, 0.08])
    def test_nature_follows_the_laws(self, name, variance):
        one = problem(name, variance=variance)
        draws = one.sample(4000, np.random.default_rng(0))
        np.testing.assert_allclose(draws.mean(0), 0.5, atol=0.02)
        np.testing.assert_allclose(draws.var(0), variance, rtol=0.08)
        for key, law in one.laws.items():
            variable = one.space.variables[key]
            width = variable.upper - variable.lower
            assert law.var() == pytest.approx(variance * width**2)
            assert law.mean() == pytest.approx((variable.upper + variable.lower) / 2)
        drawn = one.draw(np.random.default_rng(3))
        assert one.space.decisions.encode(drawn).numpy() == pytest.approx(one.sample(1, np.random.default_rng(3)))

    @pytest.mark.slow
    def test_expected_values_agree_with_monte_carlo(self, name):
        one = problem(name)
        draws = torch.from_numpy(one.sample(1024, np.random.default_rng(0)))
        for each in (one.control.sets[0], one.control.sets[4]):
            columns = [list(one.space.variables).index(key) for key in each.variables]
            average = one.averaged(each.variables)
            x = points(2, len(columns))
            for decision in x:
                whole = draws.clone()
                whole[:, columns] = decision
                values = one.at(whole)
                error = values.std().item() / 32
                found = average.values(decision[None], NOTHING).item()
                assert found == pytest.approx(values.mean().item(), abs=5 * error)

    def test_workers_can_receive_it(self, name):
        one = problem(name)
        copy = pickle.loads(pickle.dumps(one))
        x = points(3, len(one.space.variables))
        assert torch.equal(copy.at(x), one.at(x))
        assert copy.draw(np.random.default_rng(0)) == one.draw(np.random.default_rng(0))


@pytest.mark.parametrize(("variance", "scale"), [(0.02, 0.142), (0.04, 0.214), (0.08, 0.906)])
def test_the_scales_of_errata(variance, scale):
    law = problem("hartmann3-subsets", variance=variance).laws["x1"]
    assert law.kwds["scale"] == pytest.approx(scale, abs=5e-4)


def test_the_papers_sets_and_costs():
    sets = problem("hartmann3-subsets", costs="expensive").control.sets
    assert ["".join(each.variables) for each in sets] == ["x1", "x2", "x3", "x1x2", "x1x3", "x2x3", "x1x2x3"]
    assert [each.cost for each in sets] == [0.6, 0.6, 0.6, 0.8, 0.8, 0.8, 1.0]
    assert [each.cost for each in problem("gp-sample-3d", costs="cheap").control.sets][2:4] == [0.01, 0.1]


@pytest.mark.usefixtures("data")
def test_the_sets_of_the_data_problems():
    plant, airfoil = problem("plant-5d"), problem("airfoil")
    assert list(plant.space.variables) == ["log_ca", "log_b", "log_nh3", "log_k", "ph"]
    assert plant.space.variables["ph"] == Real(2.5, 6.5)
    assert [len(each.variables) for each in plant.control.sets] == [2, 2, 2, 3, 3, 3, 5]
    assert plant.control.sets[2].variables == ("log_k", "ph")
    assert airfoil.control.sets[0].variables == ("free_stream_velocity", "log_suction_thickness")
    assert airfoil.control.sets[5].variables == ("log_frequency", "angle_of_attack")


@pytest.mark.parametrize(("name", "file"), [("plant-5d", "plant_5d"), ("airfoil", "airfoil")])
@pytest.mark.usefixtures("data")
def test_data_problems_are_their_kernel_expansions(name, file):
    x = points(100, 5)
    torch.testing.assert_close(problem(name).at(x), KernelExpansion.of(load(file))(x, NOTHING)[:, 0], rtol=0, atol=1e-8)


@pytest.mark.slow
def test_optima_with_every_variable_controlled():
    hartmann = SubsetJudge.of(problem("hartmann3-subsets"))
    assert hartmann.best == pytest.approx(3.86278, abs=1e-5)
    assert hartmann.optimal == {"x1", "x2", "x3"}
    sample = problem("gp-sample-3d", seed=1)
    judge = SubsetJudge.of(sample)
    assert judge.optimal == {"x1", "x2", "x3"}
    assert all(judge.best >= sample.at(block).max().item() for block in points(20_000, 3).split(500))
    sets = [frozenset(each.variables) for each in sample.control.sets]
    for smaller in sets:
        for larger in sets:
            if smaller < larger:
                assert judge.judges[smaller].best <= judge.judges[larger].best + 1e-6


@pytest.mark.usefixtures("data")
def test_the_plants_peak_is_narrow():
    plant = problem("plant-5d")
    judge = SubsetJudge.of(plant)
    assert judge.best == pytest.approx(2.1941, abs=1e-3)
    assert len(judge.optimal) == 5
    assert plant.at(points(4096, 5)).std().item() < 0.1


@pytest.mark.usefixtures("data")
@pytest.mark.slow
def test_on_airfoil_the_dearest_set_is_not_the_best():
    airfoil = problem("airfoil")
    judge = SubsetJudge.of(airfoil)
    assert judge.optimal == {"log_frequency", "angle_of_attack"}
    assert judge.best == pytest.approx(0.748, abs=1e-3)
    dearest = frozenset(airfoil.control.sets[-1].variables)
    assert judge.judges[dearest].best == pytest.approx(0.4093, abs=1e-3)


def test_another_seed_is_another_function():
    x = points(5, 3)
    one, two = (problem("gp-sample-3d", seed=seed).at(x) for seed in (0, 1))
    assert not torch.allclose(one, two)


def test_a_prior_sample_has_the_priors_moments():
    values = torch.stack([problem("gp-sample-3d", seed=seed).at(points(200, 3)) for seed in range(20)])
    assert values.mean().item() == pytest.approx(0, abs=0.1)
    assert values.var().item() == pytest.approx(1, abs=0.1)


HARTMANN = problem("hartmann3-subsets")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: problem("hartmann3-subsets", costs="free"),
            "`problem('hartmann3-subsets', costs=...)` must be one of ['cheap', 'moderate', 'expensive'], got 'free'",
        ),
        (lambda: problem("hartmann3-subsets", variance=0), "must be a finite number, greater than 0"),
        (lambda: problem("hartmann3-subsets", variance=1 / 12), "must be below 1/12"),
        (lambda: problem("gp-sample-3d", seed=-1), "`problem('gp-sample-3d', seed=...)`"),
        (lambda: problem("hartmann3-subsets", seed=1), "must have options among ['costs', 'variance']"),
        (lambda: HARTMANN.averaged(["x9"]), "must be among ['x1', 'x2', 'x3'], got ['x9']"),
        (
            lambda: HARTMANN.observe({"x1": 0.5, "x2": 0.5}, {"x2": 0.5, "x3": 0.5}, np.random.default_rng()),
            "must name only variables that are not controlled, got ['x2']",
        ),
        (lambda: HARTMANN.observe({"x1": 0.5}, {"x2": 0.5}, np.random.default_rng()), "lacks 'x3'"),
        (lambda: dataclasses.replace(HARTMANN, laws={}), "`SubsetProblem(laws=...)` must name exactly"),
        (
            lambda: dataclasses.replace(HARTMANN, space=Space(x1=Real(0, 1), x2=Real(0, 1), x3=Context(0, 1))),
            "`SubsetProblem(space=...)` must have real variables only",
        ),
    ],
)
def test_bad_input_is_named(make, said):
    with pytest.raises(InvalidInput) as error:
        make()
    assert said in str(error.value)


def test_an_interpolated_sample_passes_through_the_draw_and_varies_less():
    exact, published = problem("gp-sample-3d", seed=2), problem("gp-sample-3d", seed=2, interpolated=True)
    points = torch.rand(1000, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(published.at(points), exact.at(points), rtol=0, atol=1e-3)
    elsewhere = torch.rand(4000, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    assert published.at(elsewhere).std() < exact.at(elsewhere).std()
