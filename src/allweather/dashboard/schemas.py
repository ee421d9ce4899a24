"""What the REST interface takes and gives, field by field."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from allweather.dashboard.outline import Outline
from allweather.storage.summary import Glance
from allweather.trials import Trial
from allweather.trials.text import fields

WHOLE = 2**53
"""Beyond it a number in JSON is not the number that was meant."""
Cell = (
    StrictBool
    | Annotated[StrictInt, Field(ge=-WHOLE, le=WHOLE)]
    | Annotated[StrictFloat, Field(allow_inf_nan=False)]
    | Annotated[StrictStr, Field(max_length=200)]
)
"""A variable's value."""
Row = Annotated[dict[Annotated[str, Field(max_length=200)], Cell], Field(max_length=200)]
"""Values by variable."""
Outcome = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e150, le=1e150)]


class Model(BaseModel):
    """What all of them share: unknown fields are refused, as is everything that is not what it should be."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemOut(Model):
    """What went wrong (RFC 9457)."""

    title: str
    status: int
    detail: str = Field(description="a sentence for a person", examples=["`context demand` must be a number"])


class GlanceOut(Model):
    """A study in the list."""

    name: str
    address: str = Field(description="its path under this interface")
    trials: int
    last_event: int = Field(description="the number of its newest event: while it stays, nothing has happened")
    created: float = Field(description="seconds since 1970")
    changed: float = Field(description="seconds since 1970")

    @classmethod
    def of(cls, glance: Glance, address: str) -> GlanceOut:
        """A study from the outside."""
        return cls(
            name=glance.name,
            address=address,
            trials=glance.trials,
            last_event=glance.last,
            created=glance.created,
            changed=glance.changed,
        )


class StudiesOut(Model):
    """Some studies, by name."""

    studies: list[GlanceOut]
    total: int


class StudyOut(Model):
    """A study: what it is, and how far."""

    name: str
    direction: str
    variables: dict[str, str]
    states: dict[str, int] = Field(description="how many trials are in each state")
    trials: int
    last_event: int
    wanted: str = Field(description="the study's own objective")
    spent: float | None
    budget: float | None
    why_not: str | None = Field(description="why nothing can be asked or computed here; null where it can")

    @classmethod
    def of(cls, outline: Outline) -> StudyOut:
        """An outline as it is sent."""
        said = {**vars(outline), "states": outline.counts, "last_event": outline.last, "trials": outline.trials}
        return cls(**{name: said[name] for name in cls.model_fields})


class TrialOut(Model):
    """A trial as it is now."""

    number: int
    state: str = Field(examples=["pending", "complete", "failed", "expired", "withdrawn"])
    decision: dict[str, Any] = Field(description="what to do, or what was really done")
    context: dict[str, Any] | None = Field(description="what happened")
    values: list[float]
    left: list[str] = Field(default=[], description="with control sets: variables to leave alone")
    cost: float | None = Field(default=None, description="with control sets: what it costs")

    @classmethod
    def of(cls, trial: Trial) -> TrialOut:
        """A trial as it is sent."""
        return cls(**fields(trial))


class TrialsOut(Model):
    """Some trials."""

    trials: list[TrialOut]
    total: int = Field(description="how many there are in all that fit the filter")


class AskIn(Model):
    """What to ask for."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"n": 1}, {"context": {"demand": 31}}]})

    n: Annotated[int, Field(strict=True, ge=1, le=100, description="how many trials")] = 1
    context: Row | None = Field(default=None, description="the context, if it is known before the decision")


class TellIn(Model):
    """What became of a trial; what is not known yet may be told later."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"values": [42.5], "context": {"demand": 31}}, {"failed": True}]}
    )

    values: Annotated[list[Outcome], Field(max_length=1000)] | None = Field(
        default=None, description="the outcome, or several where it was measured repeatedly"
    )
    context: Row | None = Field(default=None, description="what happened")
    decision: Row | None = Field(default=None, description="what was really done, where it differs from the plan")
    failed: Annotated[bool, Field(strict=True, description="that there will be no outcome")] = False


class CorrectIn(Model):
    """What is to stand in place of what was told."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"values": [24.5]}]})

    values: Annotated[list[Outcome], Field(max_length=1000)] | None = None
    context: Row | None = None
    decision: Row | None = None


class AddIn(Model):
    """Data from before: all rows are taken, or none."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rows": [{"order": 20, "demand": 30, "value": 80}]}]})

    rows: Annotated[list[Row], Field(min_length=1, max_length=5000)] = Field(
        description="a value for every variable, and `value`"
    )
    left: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=200)] = Field(
        default=[], description="with control sets: variables that were left alone then"
    )


class RecommendationOut(Model):
    """The decision that is best as far as the study knows."""

    decision: dict[str, Any]
    objective: str = Field(description="what was wanted, in words")
    value: float | None = Field(description="the objective's posterior median; null where its target is not reached")
    interval: list[float | None] = Field(min_length=2, max_length=2, description="90% credible")
    expected: float | None = Field(description="the mean outcome under the contexts believed in")
    distance: str = Field(description="what radii of the curve are measured in")
    radius: float
    curve: list[dict[str, float | None]] = Field(description="the worst mean outcome by radius")
    control: list[str] = Field(description="with control sets: the variables to decide")
    cost: float | None
    frontier: list[dict[str, Any]] | None = Field(description="with control sets: the best of each")


class FiguresOut(Model):
    """The figures that can be drawn of a study."""

    figures: list[str]


class FigureOut(Model):
    """A figure as Plotly draws it."""

    name: str
    title: str
    says: str = Field(description="what is seen, in a sentence")
    figure: dict[str, Any] = Field(description="`data` and `layout` for Plotly")
