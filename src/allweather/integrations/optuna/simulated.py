"""Contexts that are chosen for the trials of a simulator."""

from __future__ import annotations

from typing import Any

import optuna
import torch

from allweather.contexts import ContextModel
from allweather.errors import require
from allweather.integrations.optuna.history import CONTEXT
from allweather.space import Space
from allweather.trials import plain


def chosen_context(trial: optuna.Trial, space: Space, model: ContextModel | None, seed: int) -> dict[str, Any]:
    """Return the context that was chosen for a trial; one without is given a context drawn from the law.

    Args:
        trial: a running trial.
        space: the contexts.
        model: their law.
        seed: of the random numbers.
    """
    stored = trial.study._storage.get_trial(trial._trial_id).user_attrs.get(CONTEXT)
    if stored is None:
        where = "AllweatherSampler(context=...)"
        require(model is not None, where, "be the law of the contexts of a simulator", model)
        assert model is not None
        box = space.contexts
        generator = torch.Generator().manual_seed(seed * 1000 + trial.number)
        law = model.on(space).reference(torch.zeros(0, box.columns, dtype=torch.float64), 1, generator)
        place = torch.multinomial(law.weights, 1, generator=generator)
        stored = box.decode(box.snap(law.points[place]))[0]
        trial.set_user_attr(CONTEXT, dict(plain(stored)))
    return dict(stored)
