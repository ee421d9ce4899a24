"""The initial design: decisions spread over the space, before surrogates are used."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from allweather.engine.beliefs import ASK, DESIGN, Beliefs
from allweather.engine.sides import Side
from allweather.engine.situation import Plan, Situation
from allweather.trials.history import History


def spread_out(side: Side, n: int, beliefs: Beliefs) -> Tensor:
    """Return the first `n` decisions (n, d_x) of the initial design of a side.

    Args:
        side: whose decisions.
        n: how many.
        beliefs: the source of random numbers.
    """
    return side.search.sample(n, beliefs.generator(DESIGN, 0))


def initial_plan(
    affordable: Sequence[Side], history: History, situation: Situation, beliefs: Beliefs, initial: int
) -> Plan:
    """Return the next decision of the initial design, over the cheapest sides in turn.

    Args:
        affordable: the sides that the budget allows.
        history: the trials so far.
        situation: what is known about the coming context.
        beliefs: for the law of a simulator's contexts, and random numbers.
        initial: how many decisions the design has, at least.
    """
    cheapest = min(side.control.exact_cost for side in affordable)
    sides = [side for side in affordable if side.control.exact_cost == cheapest]
    asked = sum(trial.asked for trial in history.trials)
    side, place = sides[asked % len(sides)], asked // len(sides)
    plan = side.plan(spread_out(side, max(initial, place + 1), beliefs)[place], dict.fromkeys(beliefs.outcomes))
    rule = side.main.simulator
    if rule is None:
        return plan
    law = beliefs.generator(ASK, len(history.trials))
    observations = beliefs.observations(side, history.of_outcome(*beliefs.first))
    reference = side.main.reference(observations, 1, law, side.known(situation).forecast)
    drawn = torch.multinomial(reference.weights, 1, generator=law)[0]
    return plan.within(side.space, reference.points[drawn], rule.chosen(side.space))
