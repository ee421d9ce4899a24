import pytest

from allweather import ContextModel, Distance, InvalidInput, Objective, Schedule
from allweather._utils.registry import kebab


@pytest.mark.parametrize(
    ("family", "name", "member"),
    [
        (Distance, "total-variation", "TotalVariation"),
        (Distance, "tv", "TotalVariation"),
        (Distance, "chi2", "ChiSquared"),
        (Distance, "kl", "KL"),
        (Distance, "mmd", "MMD"),
        (Objective, "dro", "DRO"),
        (Objective, "cvar", "CVaR"),
        (Objective, "worst-case-sensitivity", "WorstCaseSensitivity"),
        (ContextModel, "kde", "KDE"),
        (ContextModel, "drifting", "Drifting"),
        (Schedule, "power-law", "PowerLaw"),
        (Schedule, "self-normalised-width", "SelfNormalisedWidth"),
    ],
)
def test_parts_are_found_by_name(family, name, member):
    assert family.named(name).__name__ == member


def test_families_do_not_mix():
    with pytest.raises(InvalidInput, match="knows no 'kde'"):
        Distance.named("kde")


def test_a_misspelt_name_gets_a_suggestion():
    with pytest.raises(InvalidInput, match="did you mean 'chi-squared'"):
        Distance.named("chi-sqared")


def test_kebab():
    assert kebab("RKHSWidth") == "rkhs-width"
    assert kebab("SampleMMDRadius") == "sample-mmd-radius"
    assert kebab("MinimaxApproximation") == "minimax-approximation"


def test_a_built_in_name_is_not_taken_over():
    with pytest.raises(InvalidInput, match="name of its own"):

        class Expectation(Objective):
            def __call__(self, values, reference):
                return values.sum(-1)

    assert Objective.named("expectation").__module__ == "allweather.objectives.expectation"
    with pytest.raises(InvalidInput, match="knows no"):
        Distance.named(["tv"])
