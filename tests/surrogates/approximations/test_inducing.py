"""Inducing points: how close their posterior is to the exact one, and what is said about it."""

import logging

import pytest
import torch

import allweather as aw
from allweather._utils import linear_algebra
from allweather.surrogates.approximations import inducing
from allweather.surrogates.approximations.inducing import InducingPosterior
from allweather.surrogates.gp import gp as gp_module
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.surrogates.posteriors.leave_one_out import leave_one_out
from allweather.surrogates.posteriors.product import ProductPosterior, bordered

FITTED = Hyperparameters((0.4, 0.4, 0.5, 0.5), 1.0, 0.01, 0.1)
SOURCE = torch.Generator().manual_seed(0)
POINTS = torch.rand(600, 4, generator=SOURCE, dtype=torch.float64)
VALUES = torch.sin(6 * POINTS[:, 0]) * torch.cos(4 * POINTS[:, 2]) + POINTS[:, 1] * POINTS[:, 3]
VALUES = VALUES + 0.1 * torch.randn(600, generator=SOURCE, dtype=torch.float64)
CONTEXTS, DECISIONS = (torch.rand(k, 2, generator=SOURCE, dtype=torch.float64) for k in (24, 8))


@pytest.fixture(scope="module")
def exact() -> ProductPosterior:
    return ProductPosterior.of("rbf", 2, FITTED, POINTS, VALUES)


@pytest.fixture(scope="module")
def sparse() -> InducingPosterior:
    return InducingPosterior.of("rbf", 2, FITTED, POINTS, VALUES)


def _assert_close(found, expected):
    (mean, sd), (right, deviation) = (each.field(CONTEXTS)(DECISIONS) for each in (found, expected))
    assert float(((mean - right) / deviation).abs().max()) < 0.1
    assert 0.98 < float((sd / deviation).min()) <= float((sd / deviation).max()) < 1.02


def test_moments_are_those_of_the_exact_posterior_to_its_stated_error(exact, sparse):
    assert len(sparse.data.points) < 500
    assert sparse.everything.lacking < inducing.LACKING * FITTED.noise
    assert f"{len(sparse.data.points)} inducing points" in sparse.approximation
    assert not exact.approximation
    _assert_close(sparse, exact)
    assert abs(sparse.information_gain - exact.information_gain) < 2


def test_with_all_points_it_is_the_exact_posterior(exact, monkeypatch):
    monkeypatch.setattr(inducing, "LACKING", 0.0)
    found = InducingPosterior.of("rbf", 2, FITTED, POINTS, VALUES)
    (mean, sd), (right, deviation) = (each.field(CONTEXTS)(DECISIONS) for each in (found, exact))
    torch.testing.assert_close(mean, right, rtol=0, atol=1e-6)
    torch.testing.assert_close(sd, deviation, rtol=1e-4, atol=0)


def test_further_outcomes(exact, sparse):
    new, outcomes = torch.rand(2, 4, generator=SOURCE, dtype=torch.float64), torch.tensor([0.5, 2.0]).double()
    _assert_close(sparse.given(new, outcomes), exact.given(new, outcomes))
    _assert_close(sparse.given(new).given(new), exact.given(new).given(new))
    again = ProductPosterior.of("rbf", 2, FITTED, POINTS[:100], VALUES[:100])
    whole, data = again.given(new, outcomes).data, again.data
    surprise = (outcomes - data.shift) / data.scale - data.mean - data.kernel(new, data.points) @ data.weights
    torch.testing.assert_close(bordered(data, new, surprise).unroot, whole.unroot)
    torch.testing.assert_close(bordered(data, new, surprise).weights, whole.weights)


@pytest.mark.parametrize("further", [False, True])
def test_paths_have_the_posterior_s_moments(sparse, further):
    posterior = sparse.given(POINTS[:1] * 0.9) if further else sparse
    mean, sd = posterior.field(CONTEXTS[:4])(DECISIONS)
    paths = posterior.paths(CONTEXTS[:4], 2000, torch.Generator().manual_seed(0))(DECISIONS)
    assert float(((paths.mean(0) - mean) / sd).abs().max()) < 0.15
    assert 0.8 < float((paths.std(0) / sd).min()) <= float((paths.std(0) / sd).max()) < 1.1
    drawn = posterior.draws(DECISIONS, CONTEXTS[:4], 2000, torch.Generator().manual_seed(0))
    assert 0.9 < float((drawn.std(0) / sd).min()) <= float((drawn.std(0) / sd).max()) < 1.1


def test_leave_one_out_and_fourier_paths_are_of_all_outcomes(exact, sparse):
    found, expected = leave_one_out(sparse), leave_one_out(exact)
    assert float(((found.mean - expected.mean) / expected.sd).abs().max()) < 0.1
    torch.testing.assert_close(found.sd, expected.sd, rtol=0.02, atol=0)
    few, same = (
        each.fourier_paths(CONTEXTS, 2, torch.Generator().manual_seed(0), 64)(DECISIONS) for each in (sparse, exact)
    )
    torch.testing.assert_close(few, same)


class TestStudies:
    SPACE = aw.Space(x=aw.Real(0, 1), c=aw.Context(0, 1))

    @pytest.fixture
    def study(self, monkeypatch) -> aw.Study:
        monkeypatch.setattr(gp_module, "MAX_EXACT_OUTCOMES", 100)
        monkeypatch.setattr(gp_module, "MAX_FIT_OUTCOMES", 80)
        monkeypatch.setattr(gp_module, "FIRST_FIT_OUTCOMES", 40)
        return self.filled()

    def filled(self) -> aw.Study:
        study = aw.Study(self.SPACE, context=aw.KDE(64))
        study.add([{"x": x, "c": c, "value": -((x - c) ** 2) + 0.1 * y} for x, _, c, y in POINTS[:150].tolist()])
        return study

    def test_they_recommend_what_the_exact_posterior_would(self, study, monkeypatch):
        found = study.recommend()
        assert "150 outcomes" in found.approximation
        assert "Approximation: the model" in str(found)
        assert aw.Recommendation.from_dict(found.to_dict()).approximation == found.approximation
        assert study.check().explained > 0.3
        monkeypatch.setattr(gp_module, "MAX_EXACT_OUTCOMES", 1000)
        right = self.filled().recommend()
        assert "approximation" not in right.to_dict()
        assert found.decision["x"] == pytest.approx(right.decision["x"], abs=0.02)

    def test_progress_is_logged(self, study, caplog):
        with caplog.at_level(logging.INFO, logger="allweather"):
            study.ask()
        assert "hyperparameters fitted to 80 of 150 outcomes" in caplog.text
        assert "inducing points for 150 outcomes" in caplog.text

    def test_an_interrupted_ask_leaves_the_study_as_it_was(self, study, monkeypatch):
        def interrupt(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(linear_algebra, "_accepted", interrupt)
            with pytest.raises(KeyboardInterrupt):
                study.ask()
        assert len(study.trials()) == 150
        assert study.ask().number == 150
