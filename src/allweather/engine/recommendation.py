"""The decision a study recommends, and what is known about it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from torch import Tensor

from allweather._utils.formatting import plain
from allweather._utils.tensors import as_tensor
from allweather.errors import require
from allweather.space.variables import Value

if TYPE_CHECKING:
    import pandas as pd

TABLES = ("curve", "worst", "frontier", "outcomes")
NOTES = ("warning", "approximation", "assumption")
LEFT_OUT = ("feasible", "possible_gain", "expected_gain", *NOTES, "units", "ranges", "tolerance")
"""Fields that are left out where they say nothing."""
WITH_CONTROL = ("control", "cost", "frontier")
"""Fields that say something only where there are control sets."""


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The best decision under the posterior, in the user's units and direction."""

    decision: dict[str, Value]
    value: float
    """The objective: its posterior median, and of a mean outcome its posterior mean."""
    interval: tuple[float, float]
    """The central 90% credible interval of the objective.

    It allows for what is not known about the function, its hyperparameters where the surrogate samples them, a context
    distribution that is learned from few contexts, failures that are rare or were not seen, and the finite number of
    draws. It makes no allowance for the decision being the best of many. `python -m benchmarks calibration` measures
    how often such intervals hold the truth.
    """
    expected: float
    """The mean outcome under the contexts believed in."""
    curve: pd.DataFrame
    """Columns `radius` and `value`: the worst mean outcome when the context distribution may shift by the radius.

    It is that of the posterior mean function. Worst cases are concave, so a robust `value`, which averages over what
    the function may be, lies below the curve as long as much is unknown.
    """
    worst: pd.DataFrame
    """The contexts, how likely each is `believed` to be, and under the `worst` distribution within the radius."""
    distance: str
    """What radii are measured in."""
    radius: float
    """That of `worst`."""
    control: tuple[str, ...] = ()
    """With control sets: the variables to control; the others are not controlled."""
    cost: float | None = None
    """What deciding them costs."""
    frontier: pd.DataFrame | None = None
    """With control sets: the best of each set, cheapest first, with `cost`, the objective's `value` under the posterior
    mean, and whether it is on the `frontier`: nothing that costs as little is better."""
    possible_gain: float | None = None
    """With 95% probability, under the posterior, no decision has an objective better by more than this.

    With limits only decisions that keep all of them count. Several objectives are weighed as in the recommendation, in
    units of their ranges among the decisions tried. Infinite where the model is too poor to tell, or no decision is
    believed to keep all limits.
    """
    expected_gain: float | None = None
    """How much one more trial is expected to improve the objective of the recommended decision; None where there are
    several outcomes."""
    warning: str = ""
    """Why the recommendation should not be relied on, where there is a reason."""
    approximation: str = ""
    """What was approximated, in the interval or because there are many outcomes, where something was."""
    assumption: str = ""
    """What the interval assumes, after the words `the interval assumes that`."""
    units: Mapping[str, str] = field(default_factory=dict)
    """The units of the decision's variables, of those that have one."""
    ranges: Mapping[str, Any] = field(default_factory=dict)
    """With a tolerance: how far each variable may be changed alone; two ends for numbers, a list of options."""
    tolerance: float | None = None
    """How much worse than the best a decision may be to be in `ranges`."""
    outcomes: pd.DataFrame | None = None
    """With several outcomes, one row each: what is `wanted`, the `value` of its objective with the ends `low` and
    `high` of the 90% credible interval; of limits the `margin` to the limit, positive where it is kept, and the
    `probability` that it is."""
    feasible: float | None = None
    """With limits: the probability that all of them are kept."""

    @property
    def notes(self) -> dict[str, str]:
        """What is to be known about the numbers, by kind: what texts and pages show."""
        assumed = f"it assumes that {self.assumption}" if self.assumption else ""
        notes = {"Warning": self.warning, "Approximation": self.approximation, "Interval": assumed}
        return {kind: note for kind, note in notes.items() if note}

    @property
    def gain_known(self) -> bool:
        """Whether what is left to gain is known and finite."""
        return self.possible_gain is not None and math.isfinite(self.possible_gain)

    @property
    def gain_meaning(self) -> str:
        """What the possible gain bounds, in words that go on with `than` and the number."""
        who = "no decision" if self.feasible is None else "no decision that keeps all limits"
        if self.outcomes is None or self.outcomes["probability"].isna().sum() < 2:
            return f"{who} has an objective that is better by more"
        return f"{who} has weighed objectives, in units of their ranges, that are better by more"

    def to_dict(self, worst: bool = False) -> dict[str, Any]:
        """Return the recommendation as plain data; numbers that are not finite are None.

        Fields about control sets are left out where there are none, and gains where they are not known.

        Args:
            worst: whether to include `worst`, one row per context.
        """
        unsaid = {"" if worst else "worst", *(WITH_CONTROL if self.frontier is None else ())}
        unsaid |= set() if self.outcomes is not None else {"outcomes"}
        found = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in unsaid}
        absent = [name for name in LEFT_OUT if not found[name] and found[name] != 0]
        tables = {name: found[name].to_dict("records") for name in TABLES if name in found}
        return {name: plain(value) for name, value in {**found, **tables}.items() if name not in absent}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Recommendation:
        """Return the recommendation that `to_dict` wrote; `worst` is empty where it was left out.

        Args:
            data: as `to_dict` returned it, also after a walk through JSON.
        """
        import pandas as pd  # here, since it takes time to import

        known = {each.name for each in fields(cls)}
        require(
            set(data) <= known, "Recommendation.from_dict(data=...)", f"have no keys but {sorted(known)}", set(data)
        )
        given = {"worst": [], **data}
        for name in TABLES:
            if given.get(name) is not None:
                given[name] = pd.DataFrame(given[name])
        if "possible_gain" in given and given["possible_gain"] is None:  # what is not defined is left out
            given["possible_gain"] = math.inf
        for name in ("value", "expected"):
            given[name] = math.nan if given[name] is None else given[name]
        low, high = (math.nan if end is None else end for end in given["interval"])
        return cls(**{**given, "interval": (low, high), "control": tuple(given.get("control", ()))})

    def __str__(self) -> str:
        after = {name: f" {unit}" for name, unit in self.units.items()}
        said = ", ".join(f"{name} = {_short(value)}{after.get(name, '')}" for name, value in self.decision.items())
        low, high = self.interval
        found = f"objective {self.value:.4g} (90% credible {low:.4g} to {high:.4g})"
        if not math.isfinite(self.value):
            found = "the objective's target is not reached"
        radius = self.curve["radius"].iloc[-1]
        shifted = f"{self.curve['value'].iloc[-1]:.4g} when contexts shift by {radius:.3g} in {self.distance}"
        rises = self.curve["value"].iloc[-1] > self.curve["value"].iloc[0]
        told = f"{said}: {found}, mean outcome {self.expected:.4g}, {'rises' if rises else 'falls'} to {shifted}"
        further = "".join(f". {kind}: {note}" for kind, note in self.notes.items())
        return told + self._outcomes() + self._left() + self._ranges() + further

    def _outcomes(self) -> str:
        """What is known about the other outcomes."""
        if self.outcomes is None:
            return ""
        parts = []
        for row in self.outcomes.to_dict("records"):
            share = row["probability"]
            held = "" if math.isnan(share) else f", holds with {100 * share:.0f}% probability"
            parts.append(f"{row['wanted']}: {row['value']:.4g} ({row['low']:.4g} to {row['high']:.4g}){held}")
        return "; " + "; ".join(parts)

    def _ranges(self) -> str:
        if not self.ranges:
            return ""
        parts = [
            f"{name} {' or '.join(map(str, near))}"
            if isinstance(near, list)
            else f"{name} {_short(near[0])} to {_short(near[1])} {self.units.get(name, '')}".rstrip()
            for name, near in self.ranges.items()
        ]
        return f"; within {self.tolerance:.3g} of it, changing one at a time: {', '.join(parts)}"

    def _left(self) -> str:
        if self.possible_gain is None:
            return ""
        if not self.gain_known:
            return "; what is left to gain cannot be told yet"
        more = "" if self.expected_gain is None else f", {self.expected_gain:.2g} expected of one more trial"
        if self.outcomes is not None:
            return f"; {self.gain_meaning} than {self.possible_gain:.2g} (95%)"
        return f"; at most {self.possible_gain:.2g} better is possible (95%){more}"

    __repr__ = __str__


def checked_radii(radii: Sequence[float]) -> Tensor:
    """The radii a user wants to know about, as a tensor."""
    chosen = as_tensor(radii, "Study.recommend(radii=...)")
    fits = chosen.ndim == 1 and len(chosen) > 0 and bool((chosen >= 0).all())
    require(fits, "Study.recommend(radii=...)", "be numbers of at least 0", radii)
    return chosen


def _short(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
