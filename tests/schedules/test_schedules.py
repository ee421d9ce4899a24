import math

import pytest

import allweather as aw
from allweather.schedules import Custom, Progress, as_schedule

NOW = Progress(step=25, decision_dim=2, context_dim=3, information_gain=4.0)


@pytest.mark.parametrize(
    ("schedule", "value"),
    [
        (aw.Constant(0.2), 0.2),
        (aw.PowerLaw(2, 0.5), 0.4),
        (Custom(lambda t: t / 5), 5.0),
        (aw.DensityRadius(), 25 ** (-2 / 7)),
        (aw.SampleMMDRadius(), (2 + math.sqrt(2 * math.log(10))) / 5),
        (aw.TransportRadius(), 0.06),
        (aw.DivergenceRadius("total-variation"), 1 / (5 + math.sqrt(26))),
        (
            aw.SmoothedRadius("total-variation", 0.5, 0.2),
            (math.sqrt((1 + 2 / math.sqrt(2 * math.pi)) ** 3 - 1) + math.sqrt(2 * math.log(5))) / 5,
        ),
        (aw.SmoothedRadius("chi-squared", 0.5, 0.2), ((1 + 2 / math.sqrt(2 * math.pi)) ** 3 - 1) / 5),
        (aw.SmoothedRadius("kl", 0.5, 0.2), math.log(1 + ((1 + 2 / math.sqrt(2 * math.pi)) ** 3 - 1) / 5)),
        # Srinivas et al.: the log-determinant is twice the information gain
        (aw.RKHSWidth(norm_bound=3.0), math.sqrt(18 + 300 * 8 * math.log(250) ** 3)),
        (aw.InformationGainWidth(1.0, 0.5, sets=6), 1 + math.sqrt(2 * (5 + math.log(70)))),
        (aw.InformationGainWidth(1.0, 0.5, sets=6, theorem="4.4"), 1 + math.sqrt(2 * (5 + math.log(120)))),
        (aw.InformationGainWidth(1.0, 0.5, regularisation=4.0), 1 + 0.25 * math.sqrt(2 * (5 + math.log(10)))),
        # Lemma 20 of wasserstein: 2 D^2 times the whole sum
        (
            aw.CoveringRadius(5.0, 0.1, covering=0.5),
            math.sqrt(
                6
                * (
                    math.log(10)
                    + 2 * math.log(1 + 50 * math.sqrt(2))
                    + 0.5 * ((1 + math.log(125)) ** 6 + (1 + math.log(25)) ** 11)
                )
                / 25
            ),
        ),
        (
            aw.GrowingWidth(64, 3.0),
            math.sqrt(2 * math.log(626 * 64 * (3750 * math.sqrt(math.pi)) ** 2 / math.sqrt(2 * math.pi))),
        ),
        (aw.FiniteWidth(1024, 64), math.sqrt(2 * math.log(626 * 65536 / math.sqrt(2 * math.pi)))),
        (
            aw.BayesianWidth(),
            math.sqrt(2 * math.log(625 / math.sqrt(2 * math.pi)) + 4 * math.log(625 * math.sqrt(math.pi))),
        ),
    ],
)
def test_values_by_hand(schedule, value):
    assert schedule(NOW) == pytest.approx(value)


def test_self_normalised_width_is_equation_7_over_the_posterior_standard_deviation():
    noise, regularisation, bound, failure = 0.3, 0.04, 2.0, 0.05
    log_det = 8.0
    beta = noise * math.sqrt(2 * math.log(math.exp(log_det / 2) / failure)) + math.sqrt(regularisation) * bound
    width = aw.SelfNormalisedWidth(bound, noise, regularisation, failure)
    assert width(NOW) == pytest.approx(beta / math.sqrt(regularisation))


@pytest.mark.parametrize(
    ("divergence", "gamma"),
    [
        ("total-variation", lambda b: b),
        ("chi-squared", lambda b: 2 * math.sqrt(b / (1 + b))),
        ("kl", lambda b: 1 - math.exp(-b)),
    ],
)
def test_divergence_radii_invert_gamma(divergence, gamma):
    for step in (1, 7, 1000):
        radius = aw.DivergenceRadius(divergence)(Progress(step=step))
        assert gamma(radius) == pytest.approx(1 / (math.sqrt(step) + math.sqrt(step + 1)))


def test_radii_shrink_and_widths_grow():
    for radius in (aw.DensityRadius(), aw.SampleMMDRadius(), aw.TransportRadius(), aw.CoveringRadius(5.0)):
        values = [radius(Progress(step=t)) for t in (10, 10**3, 10**8)]
        assert values == sorted(values, reverse=True)
    for width in (aw.BayesianWidth(), aw.FiniteWidth(9, 9), aw.RKHSWidth(1.0)):
        values = [width(Progress(step=t, information_gain=float(t))) for t in (1, 10, 100)]
        assert values == sorted(values)


def test_widths_from_data_ask_for_the_data():
    with pytest.raises(aw.InvalidInput, match=r"SelfNormalisedWidth.*information gain"):
        aw.SelfNormalisedWidth(1.0, 0.1)(Progress(step=3))


def test_numbers_and_functions_become_schedules():
    assert as_schedule(0.5, "UCB(width=...)") == aw.Constant(0.5)
    assert as_schedule(lambda t: 1 / t, "UCB(width=...)")(Progress(step=2)) == 0.5
    with pytest.raises(aw.InvalidInput, match=r"UCB\(width"):
        as_schedule(math.nan, "UCB(width=...)")
    with pytest.raises(aw.InvalidInput, match="Custom"):
        as_schedule(lambda t: math.inf, "UCB(width=...)")(Progress(step=2))


@pytest.mark.parametrize(
    "declaration",
    [
        lambda: aw.Constant("x"),
        lambda: aw.PowerLaw(math.nan, 1),
        lambda: aw.SampleMMDRadius(failure=0.0),
        lambda: aw.SelfNormalisedWidth(norm_bound=-1.0, noise=1.0),
        lambda: aw.SelfNormalisedWidth(norm_bound=1.0, noise=0.0),
        lambda: aw.InformationGainWidth(norm_bound=1.0, noise=0.1, theorem="4.4"),
        lambda: aw.InformationGainWidth(norm_bound=1.0, noise=0.1, sets=2, theorem="A.4"),
        lambda: aw.InformationGainWidth(norm_bound=1.0, noise=0.1, regularisation=0.0),
        lambda: aw.GrowingWidth(contexts=0),
        lambda: aw.GrowingWidth(contexts=4, smoothness=0.0),
        lambda: aw.DivergenceRadius("hellinger"),
        lambda: aw.SmoothedRadius("hellinger"),
        lambda: aw.SmoothedRadius("kl", bandwidth=0.0),
        lambda: aw.SmoothedRadius("kl", failure=1.0),
        lambda: aw.TransportRadius(-1),
        lambda: Progress(step=0),
        lambda: Progress(step=1, information_gain=-9.0),
        lambda: Progress(step=1, information_gain=math.nan),
        lambda: aw.PowerLaw(1, -1000)(Progress(step=9)),
    ],
)
def test_bad_declarations_are_refused(declaration):
    with pytest.raises(aw.InvalidInput):
        declaration()
