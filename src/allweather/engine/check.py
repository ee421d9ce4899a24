"""Whether the model can be relied on: predictions of each outcome from all the others, and what matters in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from allweather._utils.formatting import plain
from allweather.contexts.base import sobol
from allweather.engine.jumps import Jump, find_jump
from allweather.space import Space
from allweather.surrogates import Posterior
from allweather.surrogates.observations import Observations
from allweather.surrogates.posteriors.leave_one_out import Predictions, leave_one_out
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior
from allweather.trials.suspicious import Suspicion
from allweather.trials.text import suspicion_fields, suspicion_warning

if TYPE_CHECKING:
    import pandas as pd

MIN_CHECKED_OUTCOMES = 5
"""Outcomes that a check needs."""
SENSITIVITY_POINTS = 64
"""Points at which variables are varied one at a time."""
INTERVAL_DEVIATIONS = 1.6449
"""Standard deviations on each side of a 90% interval."""


@dataclass(frozen=True, eq=False)
class Check:
    """How well a study's model predicts outcomes that it has not seen.

    Example:
        >>> from allweather import Context, Real, Study
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> _ = study.add([{"order": o / 6, "demand": 0.5, "value": -((o / 6 - 0.4) ** 2)} for o in range(7)])
        >>> check = study.check()
        >>> check.explained > 0.5, check.reliable
        (True, True)
    """

    table: pd.DataFrame
    """One row per outcome: `observed`, `predicted` from all others, `low` and `high` of the 90% interval, `residual` in
    standard deviations."""
    explained: float
    """Share of the variance that leave-one-out predictions explain; 0 is what a constant does, negative is worse."""
    coverage: float
    """Share of outcomes within their 90% interval."""
    spread: float
    """Root mean square of the standardised residuals: 1 where predictions are as uncertain as they say."""
    importance: Mapping[str, float]
    """By variable: share of the model's variation that is lost without it (total Sobol index); may sum to above 1."""
    suspicious: tuple[Suspicion, ...] = ()
    """Trials that look wrong."""
    jump: Jump | None = None
    """Where outcomes seem to jump, so that intervals may be too narrow."""

    @property
    def reliable(self) -> bool:
        """Whether the model predicts better than a constant; True where there are too few outcomes to tell."""
        return not len(self.table) or self.explained > 0

    @property
    def verdict(self) -> str:
        """The check in words."""
        t = len(self.table)
        if not t:
            return f"Too few outcomes to check the model: at least {MIN_CHECKED_OUTCOMES} are needed."
        if not self.reliable:
            quality = "The model predicts outcomes worse than a constant does: do not rely on its recommendation yet"
        else:
            words = "poorly" if self.explained < 0.3 else "moderately well" if self.explained < 0.7 else "well"
            quality = f"The model predicts outcomes that it has not seen {words}"
        return f"{quality} ({max(self.explained, -9.99):.0%} of their variance); {self._calibration(t)}.{self._jump}"

    @property
    def ranked(self) -> list[tuple[str, float]]:
        """Variables with their importance, the largest first."""
        return sorted(self.importance.items(), key=lambda item: -item[1])

    def to_dict(self) -> dict[str, Any]:
        """Return the check as plain data; numbers that are not finite are None."""
        numbers = {name: getattr(self, name) for name in ("explained", "coverage", "spread")}
        said = {"verdict": self.verdict, "reliable": self.reliable, **numbers, "importance": dict(self.ranked)}
        said |= {"suspicious": [suspicion_fields(each) for each in self.suspicious]} if self.suspicious else {}
        return {name: plain(each) for name, each in {**said, "table": self.table.to_dict("records")}.items()}

    @property
    def _jump(self) -> str:
        said = str(self.jump or "")
        return f" {said[0].upper()}{said[1:]}." if said else ""

    def _calibration(self, t: int) -> str:
        held = f"{self.coverage:.0%} of {t} outcomes lie in their 90% interval"
        chance = 2 * math.sqrt(0.9 * 0.1 / t)
        if self.coverage < 0.9 - chance:
            return f"{held}: it is surer than it should be"
        return f"{held}: it is less sure than it could be" if self.spread < 0.5 else held

    def __str__(self) -> str:
        listed = ", ".join(f"{name} {share:.0%}" for name, share in self.ranked)
        wrong = f" {suspicion_warning(self.suspicious)}." if self.suspicious else ""
        return f"{self.verdict}{wrong} Importance: {listed}." if listed else f"{self.verdict}{wrong}"

    __repr__ = __str__


def check_model(space: Space, posterior: Posterior, observations: Observations, sign: int = 1) -> Check | None:
    """Check a posterior against the outcomes it was fitted to; None where a surrogate has no closed form.

    Args:
        space: the variables, in the order of the surrogate's columns.
        posterior: of these observations.
        observations: the outcomes, larger being better.
        sign: -1 where the user minimises.
    """
    import pandas as pd

    found = leave_one_out(posterior)
    if found is None:
        return None
    if len(observations) < MIN_CHECKED_OUTCOMES:
        empty = pd.DataFrame(columns=["observed", "predicted", "low", "high", "residual"], dtype=float)
        return Check(empty, math.nan, math.nan, math.nan, {})
    residuals = found.residuals.cpu().numpy()
    return Check(
        table=_table(posterior, found, sign),
        explained=_explained(found),
        coverage=float((np.abs(residuals) <= INTERVAL_DEVIATIONS).mean()),
        spread=float(np.sqrt((residuals**2).mean())),
        importance=_importance(space, posterior, observations),
        jump=find_jump(space, posterior),
    )


def reliability_warning(posterior: Posterior) -> str:
    """A warning where the model predicts outcomes worse than a constant does; empty where it does not."""
    found = leave_one_out(posterior)
    if found is None or len(found.observed) < MIN_CHECKED_OUTCOMES or _explained(found) > 0:
        return ""
    return (
        "the model predicts outcomes worse than a constant does: do not rely on it yet, and see the check of the model"
    )


def _table(posterior: Posterior, found: Predictions, sign: int) -> pd.DataFrame:
    import pandas as pd

    def shown(values: Tensor) -> np.ndarray:
        outcomes: Tensor = posterior.back(values) if isinstance(posterior, TransformedPosterior) else values
        return np.asarray(sign * outcomes.cpu().numpy())

    ends = np.stack([shown(found.mean + side * INTERVAL_DEVIATIONS * found.sd) for side in (-1, 1)])
    return pd.DataFrame(
        {
            "observed": shown(found.observed),
            "predicted": shown(found.mean),
            "low": ends.min(0),
            "high": ends.max(0),
            "residual": sign * found.residuals.cpu().numpy(),
        }
    )


def _explained(found: Predictions) -> float:
    """Against the mean of the other outcomes, which is what a constant predicts when one is left out."""
    observed = found.observed
    t = len(observed)
    constant = float(((observed - observed.mean()) * t / (t - 1)).square().sum())
    missed = float((observed - found.mean).square().sum())
    if constant <= 1e-20 * float(observed.square().sum()):  # outcomes that do not differ leave nothing to explain
        return 1.0
    return 1 - missed / constant


def _importance(space: Space, posterior: Posterior, observations: Observations) -> dict[str, float]:
    """Total Sobol indices of the posterior mean (Jansen's estimate), decisions uniform and contexts as seen."""
    generator = torch.Generator().manual_seed(0)
    split = observations.decisions.shape[1]
    variables = [*space.decisions.items()]
    if observations.contexts.shape[1]:
        variables += [*space.contexts.items()]
    first, second = _points(observations, generator)
    base = _means(posterior, first, split)
    variance = float(torch.cat([base, _means(posterior, second, split)]).var())
    found, start = {}, 0
    for name, variable in variables:
        changed = first.clone()
        changed[:, start : start + variable.columns] = second[:, start : start + variable.columns]
        moved = float((base - _means(posterior, changed, split)).square().mean() / 2)
        found[name] = moved / variance if variance > 0 else 0.0
        start += variable.columns
    return found


def _points(observations: Observations, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Two independent samples (64, d): halves of one sequence, since two scrambled sequences are dependent."""
    contexts, d = observations.contexts, observations.decisions.shape[1]
    rows = torch.randint(len(contexts), (2, SENSITIVITY_POINTS), generator=generator)
    both = sobol(SENSITIVITY_POINTS, 2 * d, generator).to(contexts.device)
    return torch.cat([both[:, :d], contexts[rows[0]]], 1), torch.cat([both[:, d:], contexts[rows[1]]], 1)


def _means(posterior: Posterior, points: Tensor, split: int) -> Tensor:
    with torch.no_grad():
        return posterior.field(points[:, split:]).mean(points[:, :split]).diagonal()
