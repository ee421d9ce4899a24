"""What a reader wants of a decision: the study's own objective, or another one with its distance, radius or level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from allweather.distances import Distance
from allweather.objectives import DRO, CVaR, Expectation, Objective, WorstCase

OBJECTIVES = {
    "own": "what the study was made for",
    "expectation": "the mean outcome",
    "worst-case": "the outcome in the worst context",
    "dro": "the worst mean outcome when contexts shift",
    "cvar": "the mean of the worst outcomes",
}
DISTANCES = {
    "tv": "total variation",
    "chi2": "chi-squared",
    "kl": "Kullback-Leibler",
    "mmd": "maximum mean discrepancy",
    "wasserstein": "Wasserstein",
}
LARGEST = {"tv": 2.0, "chi2": 2.0, "kl": 2.0, "mmd": 1.0, "wasserstein": 0.5}
"""Where the slider ends; the number beside it may go on."""


class Choice(BaseModel):
    """An objective by name.

    Example:
        >>> Choice(objective="dro", distance="tv", radius=0.3).part()
        DRO(distance=TotalVariation(radius=0.3))
        >>> print(Choice(objective="cvar", level=0.1).words())
        the mean of the worst 10% of outcomes
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    objective: Annotated[
        Literal["own", "expectation", "worst-case", "dro", "cvar"],
        Field(description="what is wanted of a decision; `own` is what the study was made for"),
    ] = "own"
    distance: Annotated[
        Literal["tv", "chi2", "kl", "mmd", "wasserstein"], Field(description="for `dro`: how shifts are measured")
    ] = "tv"
    radius: Annotated[
        float, Field(ge=0, le=1000, allow_inf_nan=False, description="for `dro`: how far contexts may shift")
    ] = 0.2
    level: Annotated[
        float, Field(gt=0, le=1, allow_inf_nan=False, description="for `cvar`: the share of outcomes that counts")
    ] = 0.2

    def part(self) -> Objective | None:
        """The objective; None for the study's own."""
        if self.objective == "dro":
            return DRO(Distance.named(self.distance)(self.radius))
        if self.objective == "cvar":
            return CVaR(self.level)
        plain = {"expectation": Expectation, "worst-case": WorstCase}
        return plain[self.objective]() if self.objective in plain else None

    def words(self) -> str:
        """The objective as a person would say it."""
        if self.objective == "dro":
            return f"the worst mean outcome when contexts shift by up to {self.radius:g} in {DISTANCES[self.distance]}"
        if self.objective == "cvar":
            return f"the mean of the worst {100 * self.level:.3g}% of outcomes"
        return OBJECTIVES[self.objective]

    @property
    def key(self) -> tuple[str | float, ...]:
        """Equal for choices that mean the same: what does not matter to the objective is left out."""
        extra = {"dro": (self.distance, self.radius), "cvar": (self.level,)}
        return (self.objective, *extra.get(self.objective, ()))


def own(recipe: Mapping[str, Any] | None) -> Choice | None:
    """A study's own objective, where it is one that can be chosen here.

    Example:
        >>> own({"objective": {"name": "dro", "distance": {"name": "kl", "radius": 0.1}}})
        Choice(objective='dro', distance='kl', radius=0.1, level=0.2)
        >>> own({"method": "wdrbo"}) is None
        True
    """
    said = (recipe or {}).get("objective")
    table: dict[str, Any] = {"name": said} if isinstance(said, str) else dict(said or {})
    inner = table["distance"] if isinstance(table.get("distance"), dict) else {}
    name = {"total-variation": "tv", "chi-squared": "chi2"}.get(inner.get("name", ""), inner.get("name"))
    settings = {"distance": name, "radius": inner.get("radius"), "level": table.get("level")}
    given = {"objective": table.get("name"), **{key: each for key, each in settings.items() if each is not None}}
    plain = not set(inner) - {"name", "radius"} and not set(table) - {"name", "distance", "level"}
    try:
        return Choice.model_validate(given, strict=True) if plain and table else None
    except ValidationError:
        return None


class FigureChoice(Choice):
    """An objective, and how wide the reader's screen is."""

    columns: Annotated[int, Field(ge=1, le=3, description="panels side by side, at most")] = 2
