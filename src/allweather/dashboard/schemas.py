"""Schemas: request bodies and responses of the REST API, and the objective in query strings of API and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
)

from allweather.distances import Distance
from allweather.engine.recommendation import Recommendation
from allweather.objectives import DRO, CVaR, Expectation, Objective, WorstCase
from allweather.serialization.values import CODE, is_code
from allweather.storage.summary import StudySummary
from allweather.trials import Trial
from allweather.trials.suspicious import Suspicion
from allweather.trials.text import fields, suspicion_fields

if TYPE_CHECKING:
    from allweather.dashboard.studies import Snapshot

MAX_EXACT_INTEGER = 2**53
"""The largest integer that JSON numbers represent exactly."""
Cell = (
    StrictBool
    | Annotated[StrictInt, Field(ge=-MAX_EXACT_INTEGER, le=MAX_EXACT_INTEGER)]
    | Annotated[StrictFloat, Field(allow_inf_nan=False)]
    | Annotated[StrictStr, Field(max_length=1000)]
)
"""Value of a variable."""
Name = Annotated[str, Field(max_length=200)]
Row = Annotated[dict[Name, Cell], Field(max_length=200)]
"""Values by variable name."""
TableRow = Annotated[dict[Name, Cell | None], Field(max_length=200)]
"""Cells by column."""
Outcome = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e150, le=1e150)]
EMPTY = BeforeValidator(lambda text: None if text == "" else text)
"""Reads an empty field of a form as None."""
Text = Annotated[str, Field(max_length=200)]
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


class Model(BaseModel):
    """Base of all schemas: frozen, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StudySummaryOut(Model):
    """A study in the list of studies."""

    name: str
    address: str = Field(description="its path in this API")
    direction: str = Field(description="`maximize` or `minimize`")
    trials: int
    last_event: int = Field(description="the number of its newest event, which grows with every change")
    created: float = Field(description="seconds since 1970")
    changed: float = Field(description="seconds since 1970")

    @classmethod
    def of(cls, summary: StudySummary, address: str) -> StudySummaryOut:
        """Return the schema of a summary."""
        given = {**vars(summary), "address": address, "last_event": summary.last}
        return cls(**{name: given[name] for name in cls.model_fields})


class StudiesOut(Model):
    """A page of studies, by name."""

    studies: list[StudySummaryOut]
    total: int


class StudyOut(Model):
    """A study: its variables, its objective and the state of its trials."""

    name: str
    direction: str
    variables: dict[str, str] = Field(description="role and range of each variable")
    states: dict[str, int] = Field(description="number of trials in each state")
    trials: int
    last_event: int
    wanted: str = Field(description="the study's objective")
    spent: float | None = Field(description="with control sets: total cost of the trials")
    budget: float | None
    why_not: str | None = Field(description="why ask and recommend are not possible here; null where they are")

    @classmethod
    def of(cls, study: Snapshot) -> StudyOut:
        """Return the schema of a snapshot."""
        same = ("name", "direction", "variables", "states", "trials", "spent", "budget", "why_not")
        given = {name: getattr(study, name) for name in same}
        return cls(**given, last_event=study.last, wanted=study.objective)


class TrialOut(Model):
    """A trial in its current state."""

    number: int
    state: str = Field(examples=["pending", "complete", "failed", "expired", "withdrawn"])
    decision: dict[str, Any] = Field(description="the decision to make, or the one that was made")
    context: dict[str, Any] | None = Field(description="the context that occurred")
    values: list[float]
    sds: list[float | None] = Field(default=[], description="standard errors of the outcomes, null where not known")
    occasion: str | None = Field(default=None, description="what trials with the same context share")
    partial: dict[str, Any] = Field(default={}, description="the part of the context that is known, until all of it is")
    left: list[str] = Field(default=[], description="with control sets: variables that are not controlled")
    cost: float | None = Field(default=None, description="with control sets: its cost")
    results: dict[str, dict[str, Any]] | None = Field(default=None, description="what is known of several outcomes")

    @classmethod
    def of(cls, trial: Trial) -> TrialOut:
        """Return the schema of a trial."""
        return cls(**fields(trial))


class TrialsOut(Model):
    """A page of trials."""

    trials: list[TrialOut]
    total: int = Field(description="number of trials that match the filter")


class SuspicionOut(Model):
    """A trial that looks wrong."""

    trial: int
    kind: Literal["outcome", "repeated", "context"] = Field(
        description="far from what is expected, equal to another trial, or unlike the context of its occasion"
    )
    text: str
    name: str = Field(default="", description="the outcome, or the variable of the context")
    value: Any = Field(default=None, description="what was told")
    expected: Any = Field(default=None, description="what all other trials say")
    interval: tuple[float, float] | None = Field(default=None, description="where it is expected with 95% probability")
    other: int | None = Field(default=None, description="the trial that it equals")
    occasion: str | None = None
    set_aside: bool = Field(default=False, description="whether the model leaves the outcome out as an outlier")

    @classmethod
    def of(cls, found: Suspicion) -> SuspicionOut:
        """Return the schema of what looks wrong."""
        return cls(**suspicion_fields(found))


class SuspiciousOut(Model):
    """Trials that look wrong."""

    suspicious: list[SuspicionOut]


class AddedOut(TrialsOut):
    """Trials that were added, rows that were left out, and what looks wrong."""

    skipped: list[str] = Field(default=[], description="why rows were left out")
    suspicious: list[SuspicionOut] = []


StandardErrors = Annotated[
    Outcome | Annotated[list[Outcome | None], Field(max_length=1000)] | None,
    Field(description="the standard error of the outcome, or one for each of several, null where not known"),
]
Occasion = Annotated[
    Annotated[str, Field(min_length=1, max_length=200)] | None,
    Field(description="a name or date that trials with the same context share"),
]


Values = Annotated[list[Outcome], Field(max_length=1000)]
SeveralValues = Annotated[dict[Name, Values | Outcome], Field(max_length=200)]
"""Values by outcome, where a study has several."""


class AskIn(Model):
    """A request for trials."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"n": 1}, {"context": {"demand": 31}}]})

    n: Annotated[int, Field(strict=True, ge=1, le=100, description="number of trials")] = 1
    same_context: Annotated[bool, Field(strict=True, description="whether the trials will share their context")] = False
    context: Row | None = Field(default=None, description="the context, if it is known before the decision")


class TellIn(Model):
    """The result of a trial; what is not known yet may be told later."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"values": [42.5], "context": {"demand": 31}}, {"failed": True}]}
    )

    values: Values | SeveralValues | None = Field(
        default=None, description="the outcome, or several repeated measurements; by name of several outcomes"
    )
    context: Row | None = Field(default=None, description="the context that occurred")
    decision: Row | None = Field(default=None, description="the decision made, if it differs from the planned one")
    failed: Annotated[
        Annotated[bool, Field(strict=True)] | Annotated[list[Name], Field(max_length=200)],
        Field(description="whether the trial failed: it has no outcome; or which of several outcomes failed"),
    ] = False
    sd: StandardErrors | SeveralValues = None
    occasion: Occasion = None


class CorrectIn(Model):
    """A correction of an earlier result; fields that are not given stay as they are."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"values": [24.5]}]})

    values: Values | SeveralValues | None = None
    context: Row | None = None
    decision: Row | None = None
    sd: StandardErrors | SeveralValues = None
    occasion: Occasion = None


class AddIn(Model):
    """Past data: all rows are added, or none."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rows": [{"order": 20, "demand": 30, "value": 80}]}]})

    rows: Annotated[list[TableRow], Field(min_length=1, max_length=5000)] = Field(
        description="a value for every variable, the outcome as `value`, and perhaps `sd` and `occasion`"
    )
    columns: list[Name] | dict[Name, Name] | None = Field(
        default=None, description="columns to read, or what they are called in `rows`; others are then ignored"
    )
    blank: Literal["refuse", "failed", "pending"] = Field(default="refuse", description="what a row without outcome is")
    missing: Literal["refuse", "pending", "drop"] = Field(
        default="refuse", description="what a row is whose context is not all there"
    )
    invalid: Literal["refuse", "skip"] = Field(default="refuse", description="whether rows with mistakes are left out")
    decimal: Literal["", ".", ","] = Field(
        default="", description="the decimal mark of numbers in text, where it is known"
    )
    again: Annotated[bool, Field(strict=True, description="add rows that are there already once more")] = False
    occasion: Occasion = None
    left: Annotated[list[Name], Field(max_length=200)] = Field(
        default=[], description="with control sets: variables that were not controlled"
    )


class ChangeIn(Model):
    """What is different of a study from now on; what is not given stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"variables": {"order": {"upper": 200}}, "radius": 0.3}]})

    variables: dict[str, dict[str, Any]] = Field(
        default={}, description="`lower`, `upper`, `unit`, `add`, `remove` of each"
    )
    objective: str | dict[str, Any] | None = Field(default=None, description="the objective, as in a spec")
    radius: Outcome | None = Field(default=None, description="of the objective's distance")
    costs: dict[str, Outcome] | None = Field(default=None, description="of control sets, by variables: `ph, nh3`")
    budget: Outcome | None = Field(default=None, description="of all trials together")


class ContextsIn(Model):
    """Contexts that occurred without a trial: all rows are stored, or none."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rows": [{"demand": 30}, {"demand": 42}]}]})

    rows: Annotated[list[Row], Field(min_length=1, max_length=5000)] = Field(
        description="a value for every context variable"
    )
    again: bool = Field(False, description="whether a table that was observed before is taken once more")


class ContextsOut(Model):
    """How many contexts were stored."""

    observed: int


class RecommendationOut(Model):
    """The decision with the best objective under the posterior."""

    decision: dict[str, Any]
    objective: str = Field(description="the objective, as text")
    value: float | None = Field(description="the objective's posterior median; null if its target is not reached")
    interval: list[float | None] = Field(min_length=2, max_length=2, description="90% credible interval")
    expected: float | None = Field(description="the mean outcome under the context model")
    distance: str = Field(description="the distance that radii are measured in")
    radius: float
    curve: list[dict[str, float | None]] = Field(description="the worst mean outcome at each radius")
    control: list[str] = Field(description="with control sets: the variables to control")
    cost: float | None
    frontier: list[dict[str, Any]] | None = Field(description="with control sets: the best decision of each set")
    possible_gain: float | None = Field(
        default=None, description="95% bound on what another decision gains; null if not known"
    )
    expected_gain: float | None = Field(default=None, description="expected gain of one more trial; null if not known")
    approximation: str = Field(default="", description="what was approximated because there are many outcomes")
    assumption: str = Field(default="", description="what the interval assumes")
    ranges: dict[str, Any] = Field(default={}, description="with a tolerance: how far each variable may be changed")
    tolerance: float | None = Field(default=None, description="how much worse a decision in `ranges` may be")
    units: dict[str, str] = Field(default={}, description="units of the decision's variables, where they have one")
    outcomes: list[dict[str, Any]] | None = Field(default=None, description="each of several outcomes, and its limit")
    feasible: float | None = Field(default=None, description="with limits: the probability that all are kept")
    warning: str = Field(default="", description="why the recommendation should not be relied on, if there is a reason")

    @classmethod
    def of(cls, best: Recommendation, objective: str) -> RecommendationOut:
        """Return the schema of a recommendation."""
        without_control: dict[str, Any] = {"control": [], "cost": None, "frontier": None}
        return cls(**{**without_control, **best.to_dict(), "objective": objective})


class PolicyOut(Model):
    """The best decision for each of several contexts that are known before it."""

    contexts: list[str] = Field(description="columns of the contexts")
    decisions: list[str] = Field(description="columns of the decisions")
    rows: list[dict[str, Any]] = Field(description="with `value`, the objective, and `low` and `high` of its interval")


class FiguresOut(Model):
    """Names of the figures that can be drawn of a study."""

    figures: list[str]


class FigureOut(Model):
    """A figure for Plotly."""

    name: str
    title: str
    says: str = Field(description="caption: what the figure shows")
    figure: dict[str, Any] = Field(description="`data` and `layout` for Plotly")


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
    """An objective, the context variable of a policy, and the width of a figure."""

    width: Annotated[int, Field(ge=240, le=4000, description="pixels of the place where the figure is shown")] = 960


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
    published = (spec or {}).get("goal") == "published"
    usual = "worst mean outcome within a radius that decreases with the number of contexts"
    return ", ".join(parts) or f"{usual if published else 'mean outcome'} (default)"


def _describe_part(part: Any) -> str:
    if not isinstance(part, Mapping):
        return str(part)
    if is_code(part):
        return str(part[CODE])
    settings = ", ".join(f"{key} {_describe_part(value)}" for key, value in part.items() if key != "name")
    return f"{part.get('name', '')} ({settings})" if settings else str(part.get("name", ""))
