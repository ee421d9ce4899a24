"""Query parameters of the pages: which trials the table shows, and which objective is evaluated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import Depends, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from allweather._utils.formatting import brief
from allweather.distances import Distance
from allweather.objectives import DRO, CVaR, Expectation, Objective, WorstCase
from allweather.plots.axes import is_numeric
from allweather.serialization.values import CODE, is_code
from allweather.space.text import heading
from allweather.trials import Trial

if TYPE_CHECKING:
    from allweather.dashboard.studies import Snapshot

ROWS = 25
"""Rows of a page of the table."""
OBJECTIVES = {
    "own": "the study's own objective",
    "expectation": "mean outcome",
    "worst-case": "outcome in the worst context",
    "dro": "worst mean outcome under a shift of the context distribution (DRO)",
    "cvar": "mean of the worst outcomes (CVaR)",
}
DISTANCES = {
    "tv": "total variation",
    "chi2": "chi-squared",
    "kl": "Kullback-Leibler",
    "mmd": "maximum mean discrepancy",
    "wasserstein": "Wasserstein",
}
SLIDER_MAX = {"tv": 2.0, "chi2": 2.0, "kl": 2.0, "mmd": 1.0, "wasserstein": 0.5}
"""Largest radius of the slider, by distance; the number field accepts larger ones."""
EMPTY = BeforeValidator(lambda text: None if text == "" else text)
Number = Annotated[float | None, EMPTY]
Text = Annotated[str, Field(max_length=200)]
STATES = ("pending", "complete", "failed", "expired", "withdrawn")


def from_query(kind: type[BaseModel]) -> Any:
    """Return the dependency that reads the query string of a page, of which unknown parts are ignored."""

    def read(request: Request) -> BaseModel:
        return kind.model_validate(dict(request.query_params))

    return Depends(read)


class TrialFilter(BaseModel):
    """Filter, order and page of the table of trials; an unknown state or column filters nothing out.

    Example:
        >>> trials = [Trial(0, {"order": 1.0}), Trial(1, {"order": 5.0})]
        >>> [trial.number for trial in TrialFilter(variable="order", low=2).apply(trials)]
        [1]
        >>> [trial.number for trial in TrialFilter(sort="order").apply(trials)]
        [0, 1]
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    state: Text = ""
    variable: Text = ""
    low: Number = None
    high: Number = None
    text: Text = ""
    sort: Text = "-trial"
    page: Annotated[int, Field(ge=1, le=10**6)] = 1

    def apply(self, trials: Sequence[Trial]) -> list[Trial]:
        """Return the matching trials in the chosen order."""
        newest_first = list(reversed(trials))
        active = bool(self.state or self.text or self.variable)
        found = [trial for trial in newest_first if self._matches(trial)] if active else newest_first
        name = self.sort.removeprefix("-")
        if self.sort == "-trial":
            return found
        known = [trial for trial in found if cells(trial).get(name) is not None]
        known.sort(key=lambda trial: _sort_key(cells(trial)[name]), reverse=self.sort.startswith("-"))
        return known + [trial for trial in found if cells(trial).get(name) is None]

    def query(self, **changes: Any) -> str:
        """Return the filter as a query string, with some fields changed."""
        return urlencode({**self.model_dump(exclude_defaults=True, exclude_none=True), **changes})

    def _matches(self, trial: Trial) -> bool:
        if self.state and trial.state != self.state:
            return False
        row = cells(trial)
        if self.text and not any(self.text.lower() in brief(each).lower() for each in row.values()):
            return False
        if not self.variable or (self.low is None and self.high is None):
            return True
        found = row.get(self.variable)
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return isinstance(found, int | float) and low <= found <= high


@dataclass(frozen=True)
class Page:
    """One page of the table of trials."""

    trials: Sequence[Trial]
    number: int
    pages: int
    total: int

    @classmethod
    def of(cls, trials: Sequence[Trial], chosen: TrialFilter) -> Page:
        """Return the chosen page, or the last one if there are fewer."""
        found = chosen.apply(trials)
        pages = max(-(-len(found) // ROWS), 1)
        number = min(chosen.page, pages)
        return cls(found[(number - 1) * ROWS : number * ROWS], number, pages, len(found))


def table_values(snapshot: Snapshot, chosen: TrialFilter) -> dict[str, Any]:
    """Return template values of a page of the table of trials."""
    variables = snapshot.log.space.variables
    found = snapshot.by_state.get(chosen.state, []) if chosen.state else snapshot.history.trials
    page = Page.of(found, chosen)
    outcomes = snapshot.log.spec.outcome_names or ("value",)
    columns = ["trial", *variables, *(["cost"] if snapshot.controlled else []), *outcomes]
    text = ["trial", *(name for name, each in variables.items() if not is_numeric(each))]
    return {
        "study": snapshot,
        "name": snapshot.name,
        "columns": {name: heading(name, variables.get(name)) for name in columns},
        "numeric": [each for each in columns if each not in text],
        "states": STATES,
        "chosen": chosen,
        "page": page,
        "rows": [(each, cells(each)) for each in page.trials],
    }


def cells(trial: Trial) -> Mapping[str, Any]:
    """Return the cells of a trial's row by column."""
    results = {name: _mean(each.values) for name, each in (trial.results or {}).items()}
    own = {"trial": trial.number, "value": _mean(trial.values), "cost": trial.cost, **results}
    return {**own, **(trial.context or {}), **trial.decision}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _sort_key(value: Any) -> tuple[int, Any]:
    """Sort numbers before text."""
    return (0, value) if isinstance(value, int | float) else (1, str(value))


class ObjectiveChoice(BaseModel):
    """An objective by name, with its distance and radius or its level.

    Example:
        >>> ObjectiveChoice(objective="dro", distance="tv", radius=0.3).part()
        DRO(distance=TotalVariation(radius=0.3))
        >>> print(ObjectiveChoice(objective="cvar", level=0.1).describe())
        mean of the worst 10% of outcomes
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    objective: Annotated[
        Literal["own", "expectation", "worst-case", "dro", "cvar"],
        Field(description="the objective; `own` is the study's own"),
    ] = "own"
    distance: Annotated[
        Literal["tv", "chi2", "kl", "mmd", "wasserstein"],
        Field(description="for `dro`: the distance between context distributions"),
    ] = "tv"
    radius: Annotated[
        float, Field(ge=0, le=1000, allow_inf_nan=False, description="for `dro`: the radius of the ambiguity set")
    ] = 0.2
    level: Annotated[
        float, Field(gt=0, le=1, allow_inf_nan=False, description="for `cvar`: the fraction of worst outcomes")
    ] = 0.2
    tolerance: Annotated[
        Annotated[float, Field(gt=0, le=1e150, allow_inf_nan=False)] | None,
        EMPTY,
        Field(description="also return the range of each variable in which the objective is worse by at most this"),
    ] = None

    def part(self) -> Objective | None:
        """Return the objective; None for the study's own."""
        if self.objective == "dro":
            return DRO(Distance.named(self.distance)(self.radius))
        if self.objective == "cvar":
            return CVaR(self.level)
        plain = {"expectation": Expectation, "worst-case": WorstCase}
        return plain[self.objective]() if self.objective in plain else None

    def describe(self) -> str:
        """Return the objective as text."""
        if self.objective == "dro":
            within = f"shifts by up to {self.radius:g} in {DISTANCES[self.distance]}"
            return f"worst mean outcome if the context distribution {within}"
        if self.objective == "cvar":
            return f"mean of the worst {100 * self.level:.3g}% of outcomes"
        return OBJECTIVES[self.objective]

    @property
    def key(self) -> tuple[str | float, ...]:
        """Equal for choices of equal objectives: parameters that the objective does not use are left out."""
        extra = {"dro": (self.distance, self.radius), "cvar": (self.level,)}
        return (self.objective, *extra.get(self.objective, ()))


class PolicyChoice(ObjectiveChoice):
    """An objective, and the context variable that is known before the decision."""

    by: Annotated[Text, Field(description="for a policy: the context variable that is known; the first by default")] = (
        ""
    )


class FigureChoice(PolicyChoice):
    """An objective, the context variable of a policy, and the number of columns of a figure."""

    columns: Annotated[int, Field(ge=1, le=3, description="panels side by side, at most")] = 2


def own_choice(spec: Mapping[str, Any] | None) -> ObjectiveChoice | None:
    """Return the objective of a spec as a choice, where it can be expressed as one.

    Example:
        >>> own_choice({"objective": {"name": "dro", "distance": {"name": "kl", "radius": 0.1}}})
        ObjectiveChoice(objective='dro', distance='kl', radius=0.1, level=0.2, tolerance=None)
        >>> own_choice({"method": "wdrbo"}) is None
        True
    """
    part = (spec or {}).get("objective")
    table: dict[str, Any] = {"name": part} if isinstance(part, str) else dict(part or {})
    inner = table["distance"] if isinstance(table.get("distance"), dict) else {}
    name = {"total-variation": "tv", "chi-squared": "chi2"}.get(inner.get("name", ""), inner.get("name"))
    settings = {"distance": name, "radius": inner.get("radius"), "level": table.get("level")}
    given = {"objective": table.get("name"), **{key: each for key, each in settings.items() if each is not None}}
    plain = not set(inner) - {"name", "radius"} and not set(table) - {"name", "distance", "level"}
    try:
        return ObjectiveChoice.model_validate(given, strict=True) if plain and table else None
    except ValidationError:
        return None


def describe_objective(spec: Mapping[str, Any] | None) -> str:
    """Return the objective of a spec, as text.

    Example:
        >>> describe_objective({"objective": {"name": "dro", "distance": {"name": "tv", "radius": 0.2}}})
        'worst mean outcome if the context distribution shifts by up to 0.2 in total variation'
        >>> describe_objective({"method": "wdrbo", "objective": {"name": "mean-variance", "penalty": 0.5}})
        'method wdrbo, mean-variance (penalty 0.5)'
        >>> describe_objective({})
        'mean outcome (default)'
    """
    if spec and "outcomes" in spec:
        return "; ".join(f"{name}: {_describe_part(each)}" for name, each in spec["outcomes"].items())
    choice = own_choice(spec)
    if choice is not None and spec and "method" not in spec:
        return choice.describe()
    parts = [f"method {_describe_part(spec['method'])}"] if spec and "method" in spec else []
    parts += [_describe_part(spec["objective"])] if spec and "objective" in spec else []
    controlled = "control" in (spec or {})
    usual = "worst mean outcome within a radius that decreases with the number of contexts"
    return ", ".join(parts) or f"{usual if controlled else 'mean outcome'} (default)"


def _describe_part(part: Any) -> str:
    if not isinstance(part, Mapping):
        return str(part)
    if is_code(part):
        return str(part[CODE])
    settings = ", ".join(f"{key} {_describe_part(value)}" for key, value in part.items() if key != "name")
    return f"{part.get('name', '')} ({settings})" if settings else str(part.get("name", ""))
