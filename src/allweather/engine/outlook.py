"""The posterior in the user's units and direction, which recommendations and figures show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from allweather._utils.timing import one_thread
from allweather.acquisition import Belief
from allweather.acquisition.joint import JointBelief
from allweather.acquisition.optimize import Search
from allweather.acquisition.scalarisation import chebyshev, objective_units
from allweather.contexts import LearnedModel, Reference
from allweather.distances import Distance, TotalVariation, Worst
from allweather.engine.check import MIN_CHECKED_OUTCOMES, reliability_warning
from allweather.engine.condensed import condensed
from allweather.engine.feasible import CONFIDENCE, feasible_draws
from allweather.engine.gain import Gain, gain_left
from allweather.engine.intervals import credible_interval, interval_of_mixture
from allweather.engine.joint_gain import joint_gain
from allweather.engine.jumps import find_jump
from allweather.engine.objective_draws import (
    DRAWS,
    FEW_DECISION_DRAWS,
    MAX_FEW_DECISIONS,
    laws_for,
    mean_laws,
    objective_draws,
)
from allweather.engine.recommendation import Recommendation
from allweather.errors import require
from allweather.objectives import Expectation, Outcome
from allweather.space import Row, Space
from allweather.space.constraints import LinearConstraint
from allweather.space.variables import Value
from allweather.surrogates.posteriors.transformed_posterior import TransformedPosterior
from allweather.trials import History
from allweather.trials.suspicious import Suspicion
from allweather.trials.text import suspicion_warning

if TYPE_CHECKING:
    import pandas as pd

MAX_INTERVAL_RANGES = 3
"""Wider intervals, in units of the range of the outcomes, come with a warning."""


class Likely(NamedTuple):
    """Where the objective of each decision lies."""

    low: np.ndarray
    """(b,) it is below this with 5% probability."""
    middle: np.ndarray
    """(b,) its median; of a mean outcome its expected value."""
    high: np.ndarray
    """(b,) it is above this with 5% probability."""


class Outcomes(NamedTuple):
    """What is believed about outcomes, one row per decision and one column per context."""

    mean: np.ndarray
    """(b, n)"""
    sd: np.ndarray
    """(b, n)"""


@dataclass(frozen=True, eq=False)
class Outlook:
    """What is believed after some trials, and the decision that looks best.

    Of several outcomes it is the view of the first that is maximized or minimized, with those of the others; the
    decision that looks best is the best that is believed to keep all limits.

    Example:
        >>> from allweather import Context, Real, Study
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> _ = study.add([{"order": o / 4, "demand": 0.5, "value": -abs(o - 2)} for o in range(5)])
        >>> outlook = study.outlook()
        >>> mean, sd = outlook.outcomes([{"order": 0.5}, {"order": 1.0}], [{"demand": 0.5}])
        >>> bool(mean[0, 0] > mean[1, 0])
        True
    """

    space: Space
    """With control sets: the variables of the best set as decisions, all others as contexts."""
    sign: int
    """1 where larger outcomes are better, -1 where smaller ones are."""
    belief: Belief
    chosen: Tensor
    """(d_x,) the decision that looks best, in the unit cube."""
    control: tuple[str, ...] = ()
    """With control sets: the variables to decide."""
    cost: float | None = None
    """What deciding them costs."""
    frontier: pd.DataFrame | None = None
    """With control sets: the best of each."""
    constraints: tuple[LinearConstraint, ...] = ()
    """What every decision must meet."""
    views: Mapping[str, Outlook] = field(default_factory=dict)
    """One for each of several outcomes."""
    wants: Mapping[str, Outcome] = field(default_factory=dict)
    """What is wanted of each outcome."""
    joint: JointBelief | None = None
    """What is believed of all outcomes."""
    search: Search | None = None
    """The legal decisions."""
    weights: Tensor | None = None
    """(m,) of several objectives, in the scalarisation that the decision is best for; equal if None."""
    point: Tensor | None = None
    """(m,) a reference point that several objectives shall exceed in it."""
    probability: float = 1.0
    """How likely the decision keeps all limits, as far as the search for it knows."""
    by_control: tuple[Outlook, ...] = ()
    """With control sets: the view under each of them."""
    history: History | None = None
    """The trials that it is learned from."""
    suspicious: tuple[Suspicion, ...] = ()
    """What looks wrong with them."""

    @classmethod
    def of(
        cls,
        space: Space,
        wants: Mapping[str, Outcome],
        beliefs: Mapping[str, Belief],
        joint: JointBelief,
        search: Search,
        chosen: Tensor,
        probability: float,
    ) -> Outlook:
        """Return the view of all outcomes under one control set.

        Args:
            space: the variables as the set splits them.
            wants: what is wanted of each outcome.
            beliefs: about each outcome.
            joint: the same as objectives and limits.
            search: the legal decisions.
            chosen: (d_x,) the decision that looks best.
            probability: how likely it keeps all limits.
        """
        limits = search.constraints
        views = {
            name: cls(space, wants[name].sign, belief, chosen, constraints=limits) for name, belief in beliefs.items()
        }
        main = views[next(name for name, outcome in wants.items() if not outcome.constrains)]
        further = views if len(views) > 1 else {}
        return replace(main, views=further, wants=wants, joint=joint, search=search, probability=probability)

    def of_outcome(self, name: str, where: str = "Study.outlook") -> Outlook:
        """Return the view of one outcome.

        Args:
            name: of the outcome.
            where: what errors call it.
        """
        require(name in self.wants, f"{where}(outcome=...)", f"be one of {list(self.wants)}", name)
        return self.views.get(name, self)

    @property
    def wanted(self) -> list[str]:
        """The outcomes that are maximized or minimized."""
        return [name for name, outcome in self.wants.items() if not outcome.constrains]

    @property
    def limits(self) -> list[str]:
        """The outcomes that have a limit to keep."""
        return [name for name, outcome in self.wants.items() if outcome.constrains]

    @property
    def decision(self) -> dict[str, Value]:
        """The decision that looks best."""
        return self.space.decisions.decode(self.chosen[None])[0]

    @property
    def objective_sign(self) -> int:
        """What turns the objective into the user's direction."""
        return self.sign if self.belief.objective.signed else 1

    @property
    def reference(self) -> Reference:
        """The contexts believed in, in the unit cube."""
        return self.belief.reference.to("cpu")

    @property
    def distance(self) -> Distance:
        """What shifts of the contexts are measured in: by the objective, or in total variation."""
        return getattr(self.belief.objective, "distance", None) or TotalVariation(0.2)

    def lighter(self) -> Outlook:
        """The same outlook, on fewer contexts where worst cases take long."""
        few = condensed(self.belief)
        return self if few is None else replace(self, belief=few)

    @property
    def approximation(self) -> str:
        """What is approximated in intervals, and in the model of many outcomes; empty where nothing is."""
        few, total = condensed(self.belief), len(self.reference.points)
        notes = [(self.belief.averaged or self.belief.surrogate).approximation]
        if few is not None:
            notes.append(f"the spread of the objective is computed on {len(few.reference.points)} of {total} contexts")
        return "; ".join(note for note in notes if note)

    @property
    def assumption(self) -> str:
        """What intervals assume, as the end of the sentence that begins with `the interval assumes that`."""
        belief = self.belief
        transformed = isinstance(belief.averaged or belief.surrogate, TransformedPosterior)
        said = "transformed outcomes are" if transformed else "outcomes are"
        law = "the distribution of contexts is the given one"
        if not belief.reference.points.shape[1]:
            law = "all else is noise"
        elif belief.context_model is None:
            law = "the context is the given one"
        elif belief.unlikely is not None:
            share = min(1.0, 3 / max(self._occasions, 1))
            law = (
                f"contexts are independent, with at most {share:.2g} of the probability where none was seen, and "
                "outcomes there are of the order of those so far"
            )
        elif isinstance(belief.context_model, LearnedModel):
            law = "contexts come from where they were seen, or where the objective lets them go"
        return f"{said} described by the model, and {law}; it does not correct for choosing the best of many decisions"

    def contexts(self) -> pd.DataFrame:
        """The contexts believed in, and how likely each is `believed` to be."""
        import pandas as pd

        points = self.reference.points
        columns = self.space.contexts.decode_columns(points) if points.shape[1] else None
        return pd.DataFrame(columns, index=range(len(points))).assign(believed=self.reference.weights.tolist())

    @one_thread
    def worst(self, decision: Row, radii: Sequence[float] | np.ndarray | Tensor) -> Worst:
        """The worst mean outcome (r,) of a decision when contexts shift by each radius, in the user's direction.

        `slope` is how it changes with the radius, `weights` (r, n) are the contexts' probabilities then.
        """
        shifts = torch.as_tensor(radii, dtype=torch.float64)
        with torch.no_grad():
            mean = self.belief.field.mean(self._encoded(decision)).cpu()
            found = self.distance.worst_case(mean.expand(len(shifts), -1), self.reference, shifts)
        return Worst(self.sign * found.value, self.sign * found.slope, found.weights)

    def _encoded(self, decisions: Row | Sequence[Row]) -> Tensor:
        """(b, d_x) where the belief is computed."""
        return self.space.decisions.encode(decisions).to(self.belief.reference.weights.device)

    @one_thread
    def at_contexts(self, decision: Row) -> np.ndarray:
        """The mean outcome (n,) of a decision in each of the contexts believed in."""
        with torch.no_grad():
            found: np.ndarray = self.sign * self.belief.field.mean(self._encoded(decision))[0].cpu().numpy()
        return found

    @one_thread
    def outcomes(self, decisions: Sequence[Row], contexts: Sequence[Row]) -> Outcomes:
        """What is believed about the outcome of every decision in every context."""
        if self.reference.points.shape[1]:
            points = self.space.contexts.encode(contexts)
        else:  # contexts are not looked at
            points = torch.zeros(len(contexts), 0, dtype=torch.float64)
        with torch.no_grad():
            places = self._encoded(decisions)
            mean, sd = self.belief.surrogate.field(points.to(places.device))(places)
        return Outcomes(self.sign * mean.cpu().numpy(), sd.cpu().numpy())

    @one_thread
    def objectives(self, decisions: Sequence[Row]) -> Likely:
        """Where the objective of each decision lies, given what is uncertain about the function and the contexts.

        Recommendations and figures take it from here. `approximation` says where it is not computed on all contexts.

        Args:
            decisions: by name, in the user's units.
        """
        points = self._encoded(decisions)
        means = mean_laws(self.belief, points)
        if means is not None:
            low, high = interval_of_mixture(means, self._occasions).numpy()
            low, high = (low, high) if self.objective_sign == 1 else (-high, -low)
            middle = low
        else:
            count = FEW_DECISION_DRAWS if len(points) <= MAX_FEW_DECISIONS else DRAWS
            drawn = self.objective_sign * objective_draws(self.belief, points, count, surprises=True)
            laws = laws_for(self.belief.objective, count)
            low, middle, high = credible_interval(drawn, laws, self._occasions).numpy()
        if type(self.belief.objective) is Expectation:  # known in closed form: the same number as the mean outcome
            expected = np.array([self.at_contexts(row) @ self.reference.weights.numpy() for row in decisions])
            middle = np.clip(expected, low, high)
        return Likely(low, middle, high)

    @property
    def _occasions(self) -> int:
        """How many independent outcomes the belief is learned from: contexts of one occasion are one."""
        known = self.belief.observations
        return min(len(known), len(known.seen)) if len(known.seen) else len(known)

    @one_thread
    def recommendation(self, radii: Tensor | None = None) -> Recommendation:
        """What is known about the decision that looks best: its objectives, and how likely it keeps each limit."""
        import pandas as pd

        decision, distance = self.decision, self.distance
        shifts = _radii(distance) if radii is None else radii
        low, middle, high = self.chosen_objective
        worst = self.worst(decision, [distance.number]).weights[0]
        probability = float(self.feasible([decision])[0]) if self.limits else None
        gain = self.gain()
        suspicious = suspicion_warning(self.suspicious)
        warnings = [suspicious, *self._warnings(), _not_feasible(probability)]
        return Recommendation(
            decision=decision,
            value=middle,
            interval=(low, high),
            expected=float(self.at_contexts(decision) @ self.reference.weights.numpy()),
            curve=pd.DataFrame({"radius": shifts.tolist(), "value": self.worst(decision, shifts).value.tolist()}),
            worst=self.contexts().assign(worst=worst.tolist()),
            distance=type(distance).__name__,
            radius=distance.number,
            control=self.control,
            cost=self.cost,
            frontier=self.frontier,
            possible_gain=gain.possible,
            expected_gain=gain.expected,
            warning="; ".join(each for each in warnings if each),
            approximation=self.approximation,
            assumption=self.assumption,
            outcomes=self.table if self.views else None,
            feasible=probability,
        )

    def _warnings(self) -> Iterator[str]:
        """Why not to rely on the model or the interval of each outcome, named where there are several."""
        for name, view in (self.views or {"": self}).items():
            shown = self if name in ("", self.wanted[0]) else view
            surrogate = view.belief.surrogate
            jump = str(find_jump(view.space, surrogate) or "")
            for said in (reliability_warning(surrogate), jump, _too_wide(shown)):
                yield f"{name}: {said}" if name and said else said

    @one_thread
    def feasible(self, decisions: Sequence[Row]) -> np.ndarray:
        """The probability (b,) that decisions keep all limits, functions and context distribution being uncertain."""
        if not self.limits or self.joint is None:
            return np.ones(len(decisions))
        kept = feasible_draws(self.joint, self._encoded(decisions))
        return np.asarray(kept.double().mean(0).cpu().numpy())

    def acceptable(self, decisions: Sequence[Row]) -> np.ndarray:
        """Whether (b,) decisions are believed to keep all limits, or are as likely to as the one that looks best."""
        if not self.limits:
            return np.ones(len(decisions), dtype=bool)
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
        return np.asarray(kept.double().mean(0).cpu().numpy())

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per outcome: what is wanted, its objective with interval, and of limits margin and probability."""
        import pandas as pd

        rows = []
        point = self._encoded([self.decision])
        for name, outcome in self.wants.items():
            view = self.views.get(name, self)
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

    @cached_property
    def chosen_objective(self) -> tuple[float, float, float]:
        """Where the objective of the decision that looks best lies: low end of its interval, middle, high end."""
        (low,), (middle,), (high,) = (each.tolist() for each in self.objectives([self.decision]))
        return low, middle, high

    @one_thread
    def gain(self) -> Gain:
        """How much better than the decision that looks best another may be, and what one more trial may gain.

        With limits only decisions that keep them count; several objectives are weighed as in the recommendation. The
        possible gain is infinite where the model is too poor to tell: of some outcome it has few values or is not
        reliable, or no decision is believed to keep all limits. What one more trial may gain is known of one outcome.
        """
        return self._gain

    @cached_property
    def _gain(self) -> Gain:
        search = self.search or Search(self.space.decisions, self.constraints, device=str(self.chosen.device))
        unknown = any(_too_poor(each.belief) for each in self.views.values() or (self,))
        if not self.views:
            found = gain_left(self.belief, self.chosen, search)
            return found._replace(possible=math.inf) if unknown else found
        if unknown or self.joint is None or (self.limits and self.probability < CONFIDENCE):
            return Gain(math.inf, None)
        return Gain(joint_gain(self.joint, self.chosen, search, self.weights, self.point), None)


def _too_poor(belief: Belief) -> bool:
    """Whether a model has few outcomes, or predicts them worse than a constant does."""
    return len(belief.observations) < MIN_CHECKED_OUTCOMES or bool(reliability_warning(belief.surrogate))


def best_by_cost(
    views: Sequence[Outlook], names: Sequence[str], weights: Tensor | None = None, point: Tensor | None = None
) -> Outlook:
    """Return the view of the best control set, with the best decision of every set by cost.

    A set whose decision is believed to keep all limits is better than any other; then the objective counts.

    Args:
        views: one for each control set.
        names: of all variables.
        weights: (m,) of several objectives; equal if None.
        point: (m,) a reference point that several objectives shall exceed.
    """
    rows, scores = list[dict[str, Any]](), _scores(views, weights, point)
    kept = [view.probability >= CONFIDENCE for view in views]
    judged = [
        (score if fits else -np.inf, 0.0 if fits else view.probability)
        for view, score, fits in zip(views, scores, kept, strict=True)
    ]
    for view, (score, _) in zip(views, judged, strict=True):
        with torch.no_grad():
            belief = view.belief
            value = float(belief.objective(belief.field.mean(view.chosen[None]), belief.reference)[0])
        feasible = {"feasible": view.probability} if view.limits else {}
        named = {"control": ", ".join(view.control), "cost": view.cost}
        rows.append({**named, "value": value, "score": score, **feasible, **view.decision})
    top = min(range(len(rows)), key=lambda place: (*(-each for each in judged[place]), rows[place]["cost"]))
    columns = ["control", "cost", "value", "score", *(["feasible"] if views[top].limits else []), *names]
    frontier = _by_cost(rows, columns, views[top].objective_sign)
    return replace(views[top], frontier=frontier, by_control=tuple(views))


def _scores(views: Sequence[Outlook], weights: Tensor | None, point: Tensor | None) -> list[float]:
    """The objective of the posterior mean at the decision of each view; of several objectives a scalarisation."""
    with torch.no_grad():
        joints = [view.joint for view in views if view.joint is not None]
        found = torch.stack(
            [
                torch.stack([each.expected(view.chosen[None])[0] for each in joint.objectives])
                for view, joint in zip(views, joints, strict=True)
            ]
        )
        if found.shape[1] == 1:
            return found[:, 0].tolist()
        ideals, units = zip(*(objective_units(joint.objectives, joint.tried()) for joint in joints), strict=True)
        ideal, unit = torch.stack(ideals).amax(0), torch.stack(units).amax(0)
        shares = torch.full_like(ideal, 1 / len(ideal)) if weights is None else weights.to(ideal)
        return chebyshev((found - (ideal if point is None else point.to(ideal))) / unit, shares).tolist()


def _by_cost(rows: list[dict[str, Any]], columns: list[str], sign: int) -> pd.DataFrame:
    """The best decision of each set, cheapest first, and which of them are on the frontier.

    Args:
        rows: one for each set.
        columns: of the table.
        sign: what turns values into the user's direction.
    """
    import pandas as pd

    table = pd.DataFrame(rows, columns=columns)
    ordered = table.sort_values(["cost", "score"], ascending=[True, False], ignore_index=True)
    ordered["frontier"] = ordered["score"] > ordered["score"].cummax().shift(fill_value=-float("inf"))
    ordered["value"] = sign * ordered["value"]
    return ordered.drop(columns="score")


def _not_feasible(probability: float | None) -> str:
    """A warning where no decision is believed to keep all limits; empty where one is."""
    if probability is None or probability >= CONFIDENCE:
        return ""
    return (
        f"no decision is believed to keep all limits with {100 * CONFIDENCE:.0f}% probability; this one is closest, "
        f"with {100 * probability:.0f}%"
    )


def _too_wide(view: Outlook) -> str:
    """A warning where an interval says less than the outcomes themselves; empty where it does not.

    Objectives that are not in the outcomes' unit, such as probabilities, are not compared with these.
    """
    (low, _, high), values = view.chosen_objective, view.belief.observations.values
    wide = high - low > MAX_INTERVAL_RANGES * float(values.max() - values.min()) > 0
    if not wide or not view.belief.objective.signed:
        return ""
    return (
        f"the interval is wider than {MAX_INTERVAL_RANGES} times the range of the outcomes so far: "
        "they do not yet say what this decision is worth"
    )


def _radii(distance: Distance) -> Tensor:
    """From no shift to some times the radius in question."""
    top = 3 * distance.number or 1.0
    if isinstance(distance, TotalVariation):
        top = min(max(top, 1.0), 2.0)
    radii = torch.linspace(0, top, 31, dtype=torch.float64)
    own = distance.number
    known = bool((radii - own).abs().min() <= 1e-12)
    return radii if known else torch.cat([radii, radii.new_tensor([own])]).sort().values
