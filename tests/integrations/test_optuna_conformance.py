# ruff: noqa: E402 (Optuna may be missing)
"""Optuna's own conformance suite for samplers, with a context set when each trial begins."""

import pytest

import allweather as aw

suite = pytest.importorskip("optuna.testing.pytest_samplers", reason="this Optuna has no suite for samplers")
import optuna

from allweather.integrations.optuna import AllweatherSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)
pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")


class InContext(AllweatherSampler):
    """As a program that knows the context of a trial when it begins."""

    def before_trial(self, study, trial):
        study._storage.set_trial_user_attr(trial._trial_id, "context", {"grip": trial.number % 7 / 7})


class TestAllweatherSampler(
    suite.BasicSamplerTestCase, suite.RelativeSamplerTestCase, suite.MultiObjectiveSamplerTestCase
):
    @pytest.fixture
    def sampler(self):
        # Few contexts, and a model after six trials: tests of ten and more trials use it.
        return lambda: InContext(aw.Space(grip=aw.Context(0, 1)), context=aw.Empirical(), initial=6)
