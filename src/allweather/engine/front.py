"""Trade-offs between several objectives: decisions of which none is better in all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Generator, Tensor

from allweather._utils.timing import one_thread
from allweather.acquisition.constrained import penalised, random_weights, scalarised
from allweather.engine.feasible import CONFIDENCE, WIDTHS, best_feasible, expected_score, feasible_draws
from allweather.engine.outcomes_view import OutcomesOutlook
from allweather.engine.posterior_view import Outlook
from allweather.errors import is_number, require

if TYPE_CHECKING:
    import pandas as pd

SEARCHES = 12
"""Scalarisations whose best decisions are on offer, beside the decisions tried."""


@one_thread
def front_of(view: Outlook) -> pd.DataFrame:
    """Return decisions that are not dominated by the posterior medians of their objectives, one row each.

    Columns are the decision's variables, for every objective its median and the ends `low` and `high` of its 90%
    credible interval, and with limits the probability `feasible` that all of them are kept.

    Args:
        view: of a study with several objectives.
    """
    import pandas as pd

    seen = require_objectives(view, "Study.front()")
    assert seen.joint is not None
    decisions = _offered(seen)
    feasible = feasible_draws(seen.joint, decisions).double().mean(0).cpu().numpy()
    if seen.limits and (feasible >= CONFIDENCE).any():
        decisions, feasible = decisions[torch.from_numpy(feasible >= CONFIDENCE)], feasible[feasible >= CONFIDENCE]
    rows = seen.space.decisions.decode(decisions)
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in seen.space.decisions}
    scores = []
    for name in seen.wanted:
        low, middle, high = seen.views[name].objectives(rows)
        columns |= {name: middle, f"{name} low": low, f"{name} high": high}
        scores.append(seen.views[name].objective_sign * middle)
    table = pd.DataFrame(columns | ({"feasible": feasible} if seen.limits else {}))
    kept = table[~dominated(np.stack(scores, -1))].drop_duplicates()
    return kept.sort_values(seen.wanted[0], ignore_index=True)


def weigh(view: Outlook, weights: Mapping[str, float]) -> OutcomesOutlook:
    """Return the view with the decision that is best for some weights of the objectives.

    Args:
        view: of a study with several objectives.
        weights: of each of them, at least 0; only their ratios count.
    """
    where = "Study.recommend(weights=...)"
    seen = require_objectives(view, where)
    named = isinstance(weights, Mapping) and set(weights) == set(seen.wanted)
    require(named, where, f"give a number for each of {', '.join(seen.wanted)}", weights)
    fits = all(is_number(each) and 0 <= each < np.inf for each in weights.values()) and sum(weights.values()) > 0
    require(fits, where, "be numbers of at least 0, not all 0", weights)
    assert seen.joint is not None
    assert seen.search is not None
    shares = torch.tensor([float(weights[name]) for name in seen.wanted], dtype=torch.float64)
    chosen = best_feasible(seen.joint, seen.search, shares / shares.sum()).decision
    return replace(seen, chosen=chosen, views={name: replace(each, chosen=chosen) for name, each in seen.views.items()})


def dominated(scores: np.ndarray) -> np.ndarray:
    """Whether (k,) each row of scores (k, m) is dominated by another, larger being better.

    Example:
        >>> dominated(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.5]])).tolist()
        [False, False, True]
    """
    no_worse = np.all(scores[None] >= scores[:, None], axis=-1)
    better = np.any(scores[None] > scores[:, None], axis=-1)
    return np.asarray(np.any(no_worse & better, axis=1))


def require_objectives(view: Outlook, where: str) -> OutcomesOutlook:
    """Return the view of several outcomes; refuse one without several objectives.

    Args:
        view: of a study.
        where: what errors call it.
    """
    several = isinstance(view, OutcomesOutlook) and len(view.wanted) > 1
    wanted = "be of a study with several outcomes to maximize or minimize"
    require(several, where, wanted, "one objective", "give `Study(outcomes=...)` two or more of them")
    assert isinstance(view, OutcomesOutlook)
    return view


def _offered(view: OutcomesOutlook) -> Tensor:
    """Decisions (k, d_x): those tried, and the best ones for some scalarisations."""
    joint, search = view.joint, view.search
    assert joint is not None
    assert search is not None
    generator = Generator().manual_seed(0)
    tried = search.permitted(joint.tried())
    count = len(joint.objectives)
    scores = [expected_score(each) for each in joint.objectives]
    found = []
    for _ in range(SEARCHES):
        wanted, unit = scalarised(scores, joint, joint.tried(), random_weights(count, generator))
        score = penalised(wanted, joint.limits, unit, WIDTHS[0]) if joint.limits else wanted
        found.append(search.best(score, generator).decision)
    return torch.cat([torch.stack(found), tried])
