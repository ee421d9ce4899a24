"""What a study of several outcomes sees ahead: a view of each outcome, and how likely limits are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from allweather._utils.timing import one_thread
from allweather.acquisition.constrained import JointBelief
from allweather.acquisition.optimize import Search
from allweather.engine.feasible import CONFIDENCE, feasible_draws
from allweather.engine.gain import Gain
from allweather.engine.objective_draws import objective_draws
from allweather.engine.posterior_view import Outlook
from allweather.engine.recommendation import Recommendation
from allweather.errors import require
from allweather.objectives import Outcome
from allweather.space import Row

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class OutcomesOutlook(Outlook):
    """The view of the first outcome that is maximized or minimized, with those of the others.

    The decision that looks best is the best that is believed to keep all limits.
    """

    views: Mapping[str, Outlook] = field(default_factory=dict)
    """One for each outcome."""
    wants: Mapping[str, Outcome] = field(default_factory=dict)
    """What is wanted of each."""
    joint: JointBelief | None = None
    search: Search | None = None

    @property
    def wanted(self) -> list[str]:
        """The outcomes that are maximized or minimized."""
        return [name for name, outcome in self.wants.items() if not outcome.constrains]

    @property
    def limits(self) -> list[str]:
        """The outcomes that have a limit to keep."""
        return [name for name, outcome in self.wants.items() if outcome.constrains]

    @one_thread
    def feasible(self, decisions: Sequence[Row]) -> np.ndarray:
        """The probability (b,) that decisions keep all limits, functions and context distribution being uncertain."""
        found: np.ndarray = self._kept(self._encoded(decisions)).double().mean(0).cpu().numpy()
        return found

    def acceptable(self, decisions: Sequence[Row]) -> np.ndarray:
        """Whether (b,) decisions are believed to keep all limits, or are as likely to as the one that looks best."""
        if not self.limits:
            return super().acceptable(decisions)
        least = min(CONFIDENCE, float(self.feasible([self.decision])[0]))
        return np.asarray(self.feasible(decisions) >= least)

    @one_thread
    def keeps(self, name: str, decisions: Sequence[Row]) -> np.ndarray:
        """The probability (b,) that decisions keep the limit of one outcome.

        Args:
            name: of the outcome.
            decisions: by name, in the user's units.
        """
        view = self.views[name]
        level = self.wants[name].level(view.belief.objective)
        kept = objective_draws(view.belief, self._encoded(decisions)) >= level
        found: np.ndarray = kept.double().mean(0).cpu().numpy()
        return found

    def _kept(self, decisions: Tensor) -> Tensor:
        assert self.joint is not None
        return feasible_draws(self.joint, decisions)

    @one_thread
    def recommendation(self, radii: Tensor | None = None) -> Recommendation:
        """What is known about the decision that looks best: its objectives, and how likely it keeps each limit."""
        found = super().recommendation(radii)
        probability = float(self.feasible([self.decision])[0]) if self.limits else None
        warnings = [found.warning, self._not_feasible(probability)]
        return replace(
            found,
            outcomes=self.table,
            feasible=probability,
            possible_gain=None,
            warning="; ".join(each for each in warnings if each),
        )

    def _not_feasible(self, probability: float | None) -> str:
        if probability is None or probability >= CONFIDENCE:
            return ""
        sure = f"{100 * CONFIDENCE:.0f}%"
        return (
            f"no decision is believed to keep all limits with {sure} probability; this one is closest, with "
            f"{100 * probability:.0f}%"
        )

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per outcome: what is wanted, its objective with interval, and of limits margin and probability."""
        import pandas as pd

        rows = []
        point = self._encoded([self.decision])
        for name, outcome in self.wants.items():
            view = self.views[name]
            low, middle, high = self.chosen_objective if name == self.wanted[0] else view.chosen_objective
            row = {"outcome": name, "wanted": outcome.describe(name), "value": middle, "low": low, "high": high}
            if outcome.constrains:
                drawn = objective_draws(view.belief, point)
                level = outcome.level(view.belief.objective)
                margin = float(drawn.median()) - level
                row |= {"margin": margin, "probability": float((drawn >= level).double().mean())}
            rows.append(row)
        columns = ["outcome", "wanted", "value", "low", "high", "margin", "probability"]
        return pd.DataFrame(rows, columns=columns)

    def gain(self) -> Gain:
        """Not known where limits are to be kept: what is left to gain would count decisions that are not feasible."""
        return Gain(torch.nan, None)


def view_outcome(view: Outlook, name: str) -> Outlook:
    """Return the view of one outcome of a study that has several.

    Args:
        view: of the study.
        name: of the outcome.
    """
    known = list(view.wants) if isinstance(view, OutcomesOutlook) else []
    require(name in known, "Study.outlook(outcome=...)", f"be one of {known}", name)
    assert isinstance(view, OutcomesOutlook)
    return view.views[name]
