"""What a study requests of its engine: proposals, posterior views and checks of the model."""

from __future__ import annotations

from allweather.engine.check import Check
from allweather.engine.controlled import ControlledEngine
from allweather.engine.controlled_outcomes import ControlledOutcomes
from allweather.engine.engine import Engine
from allweather.engine.outcomes import OutcomesEngine
from allweather.engine.plan import Situation
from allweather.engine.posterior_view import Outlook
from allweather.errors import InvalidInput, require
from allweather.objectives import Objective
from allweather.space import Row
from allweather.trials import History, Trial


def propose(
    engine: Engine | ControlledEngine,
    history: History,
    count: int,
    situation: Situation,
    context: Row | None,
    same_context: bool = False,
) -> list[Trial]:
    """Return the next trials of a history, each given those before it as pending.

    Args:
        engine: of the study.
        history: its trials so far.
        count: how many trials to propose.
        situation: what is known about the coming context.
        context: the context in the user's units, if it is known.
        same_context: whether they are one occasion.
    """
    trials = []
    alone = not same_context or engine.parts.simulator is None or context is not None
    remedy = "give the context: `ask(n, context=..., same_context=True)`"
    said = "not be given where contexts are chosen, one for each trial"
    require(alone, "Study.ask(same_context=...)", said, same_context, remedy)
    occasion = f"ask {len(history.trials)}" if same_context else None
    for _ in range(count):
        trials.append(engine.decide(history, situation).trial(history, context, occasion))
        history = history.asked(trials[-1])
    return trials


def view_posterior(
    engine: Engine | ControlledEngine,
    history: History,
    situation: Situation,
    objective: Objective | None,
    caller: str,
) -> Outlook:
    """Return the posterior view of a history that has at least one complete trial.

    Args:
        engine: of the study.
        history: its trials so far, or an earlier part of them.
        situation: what is known about the coming context.
        objective: another objective than the study's.
        caller: what the user called, for errors.
    """
    if not history.outcome_names and not len(history.observations):
        raise InvalidInput("needs at least one complete trial (context and value), got none", where=f"{caller}()")
    fits = objective is None or isinstance(objective, Objective)
    require(fits, f"{caller}(objective=...)", "be an objective such as Expectation()", objective)
    return engine.outlook(history, situation, objective)


def check_predictions(engine: Engine | ControlledEngine, history: History, outcome: str | None = None) -> Check:
    """Return how well the surrogate predicts outcomes that it has not seen.

    Args:
        engine: of the study.
        history: its trials so far.
        outcome: one of several outcomes.
    """
    require(len(history.complete) > 0, "Study.check()", "follow at least one complete trial", "none")
    if outcome is not None:
        known = isinstance(engine, OutcomesEngine | ControlledOutcomes) and outcome in engine.outcomes
        require(known, "Study.check(outcome=...)", f"be one of {list(history.outcome_names)}", outcome)
    if isinstance(engine, OutcomesEngine | ControlledOutcomes):
        found = engine.check(history, outcome)
    else:
        found = engine.check(history)
    if found is None:
        problem = "needs a `GP` surrogate, whose leave-one-out predictions are known"
        raise InvalidInput(problem, where="Study.check()")
    return found
