import numpy as np
import pytest

import allweather as aw

SPACE = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))
PUBLISHED = [
    "random",
    "gp-ucb",
    "ts-bocu",
    "ucb-bocu",
    "ucb-bocu-1",
    "ucb-bocu-2",
    "ucb-so",
    "ucb-ro",
    "sbo-kde",
    "drbo-kde",
    "drbo-chi2",
    "drbo-tv",
    "drbo-kl",
    "wdrbo",
    "wdrbo-exact",
    "erbo",
    "ledrbo",
    "drbo-mmd",
    "drbo-mmd-minimax",
    "stableopt",
]


SUBSETS = [
    *("ucb-cvs", "etc-50", "etc-100", "etc-ada", "ucb-psq", "ts-psq", "ei-psq"),
    *("ucb-psq-per-cost", "ts-psq-per-cost", "ei-psq-per-cost", "kg-cvs"),
]
"""Those that choose among control sets: tests/engine/test_controlled.py runs them."""
SIMULATED = ["borisk", "v-ucb", "cv-ucb", "drbqo", "mva-bo", "robust-entropy-search", "robos", "drbo-simulator"]
"""Those of simulators, and one of satisficing: tests/methods/test_simulated.py runs them."""


CONSTRAINED = ["drcc", "bpt-ucb", "carbo", "mars"]
"""Those of several outcomes, or of a probability: tests/methods/test_constrained.py runs them."""


def test_every_published_method_is_there_and_says_what_it_is():
    known = aw.methods()
    assert set(known) == {*PUBLISHED, *SUBSETS, *SIMULATED, *CONSTRAINED}
    assert all(known.values())


@pytest.mark.parametrize("name", PUBLISHED)
def test_runs_by_name(name):
    study = aw.Study(SPACE, method=name, initial=4, seed=1)
    rng = np.random.default_rng(0)
    for _ in range(6):
        trial = study.ask()
        c = float(rng.beta(2, 4))
        study.tell(trial, -((trial.decision["x"] - c) ** 2), context={"c": c})
    best = study.recommend()
    assert 0 <= best.decision["x"] <= 1


def test_settings_and_parts_replace_the_papers():
    study = aw.Study(SPACE, method="drbo-kde", acquisition=aw.Thompson())
    assert isinstance(study._engine.sides[0].main.acquisition, aw.Thompson)
    assert isinstance(study._engine.sides[0].main.objective, aw.DRO)
    assert aw.method("drbo-tv", exact=True).objective == aw.DRO(
        aw.TotalVariation(aw.DivergenceRadius("total-variation"))
    )
    assert isinstance(
        aw.Study(SPACE, method=aw.Composition(objective=aw.CVaR(0.2)))._engine.sides[0].main.objective, aw.CVaR
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: aw.method("drbo-kd"), "did you mean 'drbo-kde'?"),
        (lambda: aw.method("sbo-kde", radius=1), "has no such setting; it has width, samples, surrogate"),
        (lambda: aw.Study(SPACE, method=3), "Study(method=...)"),
    ],
)
def test_refuses_by_name(make, said):
    with pytest.raises(aw.InvalidInput) as caught:
        make()
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["ucb-bocu", "ucb-bocu-1", "ucb-bocu-2", "ucb-so", "ucb-ro"])
def test_the_width_of_bocus_ucb_methods_is_that_of_the_text(name):
    assert aw.method(name).acquisition.width == pytest.approx(2**0.5)


@pytest.mark.parametrize("name", ["drbo-mmd", "drbo-mmd-minimax"])
def test_the_kernel_of_the_mmd_is_the_surrogates(name):
    assert aw.method(name).objective.distance.kernel == "surrogate"
    assert aw.method(name, lengthscale=0.1).objective.distance == aw.MMD(aw.SampleMMDRadius(), 0.1)
    assert aw.method(name, kernel="rbf").objective.distance == aw.MMD(aw.SampleMMDRadius())
    study = aw.Study(SPACE, method=name, initial=3)
    rng = np.random.default_rng(0)
    for _ in range(4):
        trial = study.ask()
        study.tell(trial, trial.decision["x"] ** 2, context={"c": float(rng.random())})
    belief = study.outlook().belief
    contexts = belief.reference.points
    covariance = belief.surrogate.context_kernel(contexts, contexts)
    found = belief.objective.distance.gram(belief.reference)
    np.testing.assert_allclose(found, covariance, atol=1e-5)


def test_gp_ucb_does_not_look_at_contexts():
    """The same decisions whatever the contexts were."""
    orders = []
    for shift in (0.0, 0.4):
        study = aw.Study(SPACE, method="gp-ucb", seed=2)
        rng = np.random.default_rng(0)
        for _ in range(8):
            trial = study.ask()
            study.tell(
                trial, trial.decision["x"] * (1 - trial.decision["x"]), context={"c": rng.uniform(0, 0.5) + shift}
            )
        orders.append(study.trials()["x"].tolist())
        assert list(study.recommend().worst.columns) == ["believed", "worst"]
    assert orders[0] == orders[1]
    pending = study.ask(2)
    assert len(pending) == 2
    assert study.ask(context={"c": 0.5}).context == {"c": 0.5}


def test_widths_are_those_of_the_papers():
    """BoTorch's bound, which the published GP-UCB takes with beta = 1.5, multiplies by the root."""
    assert aw.method("gp-ucb").acquisition == aw.UCB(1.5**0.5)
    for name in ("sbo-kde", "drbo-kde", "drbo-mmd", "drbo-mmd-minimax", "stableopt", "erbo", "wdrbo"):
        assert aw.method(name).acquisition == aw.UCB(1.5), name
