"""Trade-offs between several objectives: decisions of which none is better in all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Generator, Tensor

from allweather._utils.timing import one_thread
from allweather.acquisition.joint import scalarised
from allweather.acquisition.limits import penalised
from allweather.acquisition.scalarisation import random_weights
from allweather.engine.feasible import CONFIDENCE, LIMIT_WIDTHS, best_feasible, expected_score, feasible_draws
from allweather.engine.outlook import Outlook, best_by_cost
from allweather.errors import is_number, require

if TYPE_CHECKING:
    import pandas as pd

SCALARISATIONS = 12
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
    tables = [_front_under(each) for each in seen.by_control or (seen,)]
    table = pd.concat(tables, ignore_index=True)
    if "feasible" in table and (table["feasible"] >= CONFIDENCE).any():
        table = table[table["feasible"] >= CONFIDENCE]
    scores = np.stack([seen.views[name].objective_sign * table[name].to_numpy() for name in seen.wanted], -1)
    return table[~dominated(scores)].drop_duplicates().sort_values(seen.wanted[0], ignore_index=True)


def _front_under(seen: Outlook) -> pd.DataFrame:
    """Decisions on offer with their objectives; with control sets, those of one set."""
    import pandas as pd

    assert seen.joint is not None
    decisions = _offered(seen)
    feasible = feasible_draws(seen.joint, decisions).double().mean(0).cpu().numpy()
    if seen.limits and (feasible >= CONFIDENCE).any():
        decisions, feasible = decisions[torch.from_numpy(feasible >= CONFIDENCE)], feasible[feasible >= CONFIDENCE]
    rows = seen.space.decisions.decode(decisions)
    columns: dict[str, Any] = {"control": ", ".join(seen.control), "cost": seen.cost} if seen.control else {}
    columns |= {name: [row[name] for row in rows] for name in seen.space.decisions}
    for name in seen.wanted:
        low, middle, high = seen.views[name].objectives(rows)
        columns |= {name: middle, f"{name} low": low, f"{name} high": high}
    return pd.DataFrame(columns | ({"feasible": feasible} if seen.limits else {}))


def weigh(view: Outlook, weights: Mapping[str, float] | None, point: Mapping[str, float] | None = None) -> Outlook:
    """Return the view with the decision that is best for some weights of the objectives, or for a reference point.

    Args:
        view: of a study with several objectives.
        weights: of each of them, at least 0; only their ratios count; equal if None.
        point: what each of them shall reach: their least excess over it is as large as possible.
    """
    seen = require_objectives(view, f"Study.recommend({'weights' if point is None else 'reference_point'}=...)")
    shares = None if weights is None else _shares(seen, weights)
    levels = None if point is None else _point(seen, point, "Study.recommend(reference_point=...)")
    weighed = [_weighed(each, shares, levels) for each in seen.by_control or (seen,)]
    if not seen.by_control:
        return weighed[0]
    return best_by_cost(weighed, [*seen.space.decisions, *seen.space.contexts], shares, levels)


def _weighed(view: Outlook, shares: Tensor | None, levels: Tensor | None) -> Outlook:
    """The view under one control set, with the decision that is best for some weights or a reference point."""
    assert view.joint is not None
    assert view.search is not None
    chosen, probability = best_feasible(view.joint, view.search, shares, levels)
    views = {name: replace(each, chosen=chosen) for name, each in view.views.items()}
    return replace(view, chosen=chosen, probability=probability, views=views, weights=shares, point=levels)


def hypervolume_of(view: Outlook, point: Mapping[str, float]) -> float:
    """Return the volume that the posterior medians of the front dominate, above a reference point.

    Args:
        view: of a study with several objectives.
        point: a value for each objective; decisions that do not exceed all of them do not count.
    """
    from botorch.utils.multi_objective.hypervolume import Hypervolume

    where = "Study.hypervolume(reference_point=...)"
    seen = require_objectives(view, where)
    least = _point(seen, point, where)
    table = front_of(seen)
    columns = [seen.views[name].objective_sign * table[name].to_numpy() for name in seen.wanted]
    return float(Hypervolume(least).compute(torch.from_numpy(np.stack(columns, -1))))


def _shares(view: Outlook, weights: Mapping[str, float]) -> Tensor:
    """Weights (m,) that sum to 1."""
    where = "Study.recommend(weights=...)"
    _require_named(view, weights, where)
    fits = all(is_number(each) and 0 <= each < np.inf for each in weights.values()) and sum(weights.values()) > 0
    require(fits, where, "be numbers of at least 0, not all 0", weights)
    shares = torch.tensor([float(weights[name]) for name in view.wanted], dtype=torch.float64)
    return shares / shares.sum()


def _point(view: Outlook, point: Mapping[str, float], where: str) -> Tensor:
    """A reference point (m,) in the direction in which larger is better."""
    _require_named(view, point, where)
    fits = all(is_number(each) and np.isfinite(each) for each in point.values())
    require(fits, where, "be finite numbers", point)
    found = [view.views[name].objective_sign * float(point[name]) for name in view.wanted]
    return torch.tensor(found, dtype=torch.float64)


def _require_named(view: Outlook, given: Mapping[str, float], where: str) -> None:
    named = isinstance(given, Mapping) and set(given) == set(view.wanted)
    require(named, where, f"give a number for each of {', '.join(view.wanted)}", given)


def dominated(scores: np.ndarray) -> np.ndarray:
    """Whether (k,) each row of scores (k, m) is dominated by another, larger being better.

    Example:
        >>> dominated(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.5]])).tolist()
        [False, False, True]
    """
    no_worse = np.all(scores[None] >= scores[:, None], axis=-1)
    better = np.any(scores[None] > scores[:, None], axis=-1)
    return np.asarray(np.any(no_worse & better, axis=1))


def require_objectives(view: Outlook, where: str) -> Outlook:
    """Return the view of several outcomes; refuse one without several objectives.

    Args:
        view: of a study.
        where: what errors call it.
    """
    several = len(view.wanted) > 1
    wanted = "be of a study with several outcomes to maximize or minimize"
    require(several, where, wanted, "one objective", "give `Study(outcomes=...)` two or more of them")
    return view


def _offered(view: Outlook) -> Tensor:
    """Decisions (k, d_x): those tried, and the best ones for some scalarisations."""
    joint, search = view.joint, view.search
    assert joint is not None
    assert search is not None
    generator = Generator().manual_seed(0)
    tried = search.permitted(joint.tried())
    count = len(joint.objectives)
    scores = [expected_score(each) for each in joint.objectives]
    found = []
    for _ in range(SCALARISATIONS):
        wanted, unit = scalarised(scores, joint, joint.tried(), random_weights(count, generator))
        score = penalised(wanted, joint.limits, unit, LIMIT_WIDTHS[0]) if joint.limits else wanted
        found.append(search.best(score, generator).decision)
    return torch.cat([torch.stack(found), tried])
