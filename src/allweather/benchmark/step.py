"""One step of a run: ask, observe the problem, tell."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from allweather.problems import Problem, SubsetProblem
from allweather.study import Study
from allweather.trials import Trial


class Step(NamedTuple):
    """A trial after it was told, and the CPU seconds of its `ask`."""

    trial: Trial
    seconds: float


def play_step(study: Study, problem: Problem, seed: int, number: int) -> Step:
    """Carry out one trial.

    The random numbers of the context and the noise depend on seed and number only, not on the method.

    Args:
        study: asked and told.
        problem: draws the context and the outcome.
        seed: of the run.
        number: of the trial.
    """
    rng = np.random.default_rng([seed, number])
    context = problem.draw(rng)
    started = time.process_time()
    trial = study.ask()
    seconds = time.process_time() - started
    if isinstance(problem, SubsetProblem):
        context = {name: context[name] for name in trial.left}
    value = problem.observe(trial.decision, context, rng)
    return Step(study.tell(trial, value, context=context), seconds)
