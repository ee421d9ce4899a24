"""What a user would take in place of this library: Optuna's samplers, and BoTorch with and without contexts.

All begin with the initial design of the other methods. Decisions that break a linear constraint are moved into it.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

import allweather as aw
from allweather.acquisition.optimize import Search
from allweather.problems import Problem
from allweather.space.variables import Choice, Integer, Real
from benchmarks.league_runs import Entrant, Player, Recommended

RESTARTS, RAW_SAMPLES = 10, 512
"""Of `optimize_acqf`, for decisions alone."""
FEW_RESTARTS, FEW_RAW_SAMPLES = 4, 64
"""The same with contexts, where one value of the acquisition costs far more."""


@dataclass
class Rival(ABC):
    """A method that sees decisions in the unit cube and outcomes, after the initial design of the others."""

    problem: Problem
    seed: int
    decisions: list[Tensor] = field(default_factory=list)
    contexts: list[Tensor] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    initial: list[Mapping[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        chosen = self.problem
        study = aw.Study(
            chosen.space, method="random", constraints=chosen.constraints, initial=chosen.initial, seed=self.seed
        )
        self.initial = [trial.decision for trial in study.ask(chosen.initial)]

    @property
    def search(self) -> Search:
        """The legal decisions."""
        return Search(self.problem.space.decisions, self.problem.constraints, self.problem.candidates)

    def ask(self) -> Mapping[str, Any]:
        """Return the next decision."""
        box, number = self.problem.space.decisions, len(self.values)
        given = self.initial[number] if number < len(self.initial) else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about experimental samplers and hard fits, which users see too
            wanted = self.choose(given)
        point = box.snap(self.search.permitted(wanted[None])) if given is None else box.encode(given)
        self.decisions.append(point[0])
        decision: Mapping[str, Any] = box.decode(point)[0]
        return decision

    def tell(self, context: Mapping[str, Any], value: float) -> None:
        """Report the context and the outcome of the last decision."""
        self.contexts.append(self.problem.space.contexts.encode(context)[0])
        self.values.append(float(value))

    def recommend(self) -> Recommended:
        """Return the decision that looks best among those tried."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            best = self.best()
        return Recommended(self.problem.space.decisions.decode(self.decisions[best][None])[0])

    @abstractmethod
    def choose(self, given: Mapping[str, Any] | None) -> Tensor:
        """Return the next decision (d_x,) of the unit cube.

        Args:
            given: the decision of the initial design, where there is one.
        """

    @abstractmethod
    def best(self) -> int:
        """Return the number of the trial whose decision looks best."""


@dataclass
class OptunaRival(Rival):
    """A sampler of Optuna on decisions and outcomes."""

    sampler: str = "TPESampler"

    def __post_init__(self) -> None:
        import optuna

        super().__post_init__()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind: Any = getattr(optuna.samplers, self.sampler)
            sampler = kind(seed=self.seed, n_startup_trials=self.problem.initial)
        self.study = optuna.create_study(direction="maximize", sampler=sampler)
        self.trial: Any = None
        for decision in self.initial:
            self.study.enqueue_trial(dict(decision))

    def choose(self, given: Mapping[str, Any] | None) -> Tensor:
        """Return what Optuna suggests."""
        variables = self.problem.space.decisions
        self.trial = self.study.ask({name: _distribution(variable) for name, variable in variables.items()})
        return variables.encode(self.trial.params)[0]

    def tell(self, context: Mapping[str, Any], value: float) -> None:
        """Report the outcome."""
        super().tell(context, value)
        self.study.tell(self.trial, float(value))

    def best(self) -> int:
        """Return Optuna's best trial: that with the largest outcome."""
        number: int = self.study.best_trial.number
        return number


def _distribution(variable: Any) -> Any:
    from optuna import distributions

    if isinstance(variable, Choice):
        return distributions.CategoricalDistribution(variable.options)
    if isinstance(variable, Integer):
        return distributions.IntDistribution(variable.lower, variable.upper)
    assert isinstance(variable, Real)
    return distributions.FloatDistribution(variable.lower, variable.upper, log=variable.log)


@dataclass
class BoTorchRival(Rival):
    """`qLogNoisyExpectedImprovement` of a `SingleTaskGP` on decisions alone."""

    def choose(self, given: Mapping[str, Any] | None) -> Tensor:
        """Return the maximum of the acquisition."""
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.optim import optimize_acqf
        from botorch.utils.sampling import manual_seed

        if given is not None:
            return self.problem.space.decisions.encode(given)[0]
        decisions = torch.stack(self.decisions)
        bounds = torch.stack([torch.zeros_like(decisions[0]), torch.ones_like(decisions[0])])
        restarts, raw = self.effort
        with manual_seed(1000 * self.seed + len(self.values)):
            score = qLogNoisyExpectedImprovement(self.model(), X_baseline=decisions, objective=self.objective)
            found, _ = optimize_acqf(score, bounds=bounds, q=1, num_restarts=restarts, raw_samples=raw)
        return found[0].detach()

    @property
    def effort(self) -> tuple[int, int]:
        """Restarts and raw samples of the search."""
        return RESTARTS, RAW_SAMPLES

    @property
    def objective(self) -> Any:
        """What is made of the outcomes of a decision."""
        return None

    def model(self) -> Any:
        """Return the fitted model."""
        return self._fitted(torch.stack(self.decisions), None)

    def best(self) -> int:
        """Return the trial whose posterior mean is largest."""
        model = self.model()
        with torch.no_grad():
            means = model.posterior(torch.stack(self.decisions)[:, None]).mean
        return int(means.flatten(1).mean(1).argmax())

    def _fitted(self, points: Tensor, transform: Any) -> Any:
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms.outcome import Standardize
        from gpytorch.mlls import ExactMarginalLogLikelihood

        values = torch.tensor(self.values, dtype=torch.float64)[:, None]
        model = SingleTaskGP(points, values, input_transform=transform, outcome_transform=Standardize(m=1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model


@dataclass
class BoTorchContextRival(BoTorchRival):
    """The same with the contexts seen: `AppendFeatures` appends all of them to a decision, `Expectation` averages."""

    @property
    def effort(self) -> tuple[int, int]:
        """Restarts and raw samples of the search."""
        return FEW_RESTARTS, FEW_RAW_SAMPLES

    @property
    def objective(self) -> Any:
        """The mean over the contexts seen."""
        from botorch.acquisition.risk_measures import Expectation

        return Expectation(n_w=len(self.contexts))

    def model(self) -> Any:
        """Return the model of decisions and contexts, whose posterior is that of a decision in all contexts seen."""
        from botorch.models.transforms.input import AppendFeatures

        contexts = torch.stack(self.contexts)
        joint = torch.cat([torch.stack(self.decisions), contexts], -1)
        return self._fitted(joint, AppendFeatures(feature_set=contexts))


def _entrant(kind: Callable[[Problem, int], Player]) -> Entrant:
    return lambda problem, seed: kind(problem, seed)


RIVALS: dict[str, Entrant] = {
    "Optuna, TPE": _entrant(partial(OptunaRival, sampler="TPESampler")),
    "Optuna, GP": _entrant(partial(OptunaRival, sampler="GPSampler")),
    "BoTorch, decisions alone": _entrant(BoTorchRival),
    "BoTorch, contexts seen": _entrant(BoTorchContextRival),
}
"""By the name of the method."""
TRIALS = 30
"""Of their runs, by default: the last of them takes about a minute for so many."""
