"""Schemas of the REST API: request bodies and responses."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from allweather.dashboard.studies import Snapshot
from allweather.engine.recommendation import Recommendation
from allweather.storage.summary import StudySummary
from allweather.trials import Trial
from allweather.trials.text import fields

WHOLE = 2**53
"""The largest integer that JSON numbers represent exactly."""
Cell = (
    StrictBool
    | Annotated[StrictInt, Field(ge=-WHOLE, le=WHOLE)]
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
