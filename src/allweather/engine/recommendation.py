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
from allweather.objectives.labels import distance_label
from allweather.space.variables import Value

if TYPE_CHECKING:
    import pandas as pd

TABLES = ("curve", "worst", "frontier", "outcomes")
NOTES = ("warning", "approximation", "assumption")
LEFT_OUT = ("feasible", "possible_gain", "expected_gain", *NOTES, "units", "ranges", "tolerance")
"""Fields that are left out where they say nothing."""
WITH_CONTROL = ("control", "cost", "frontier")
"""Fields that say something only where there are control sets."""


WEIGHTS = ("believed", "worst")
"""Columns of `worst` that are no contexts."""
INTERVAL_IN_PRINT = "assumes that the model holds, without correction for choosing the best of many"
"""What printed recommendations say of every interval; `assumption` is the full sentence."""
SMALL_GAIN_DIGITS = 3
"""Digits by which an expected gain may be smaller than the interval of the objective and still be a number."""
ALL_LIMITS = "all limits hold with probability"


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
        if self.outcomes is not None:
            found = "; ".join(self.outcome_texts)
        elif not math.isfinite(self.value):
            found = f"the objective's target is not reached, mean outcome {self.expected:.4g}"
        else:
            found = (
                f"objective {self.value:.4g} (90% credible {low:.4g} to {high:.4g}), mean outcome {self.expected:.4g}"
            )
        printed = {**self.notes, **({"Interval": INTERVAL_IN_PRINT} if self.assumption else {})}
        further = "".join(f". {kind}: {note}" for kind, note in printed.items())
        return f"{said}: {found}" + self._shifted() + self._left() + self._ranges() + further

    @property
    def outcome_texts(self) -> list[str]:
        """With several outcomes: what is wanted of each, and how far this decision meets it, in words."""
        if self.outcomes is None:
            return []
        rows = [outcome_text(row) for row in self.outcomes.to_dict("records")]
        return rows if self.feasible is None else [*rows, f"{ALL_LIMITS} {as_percent(self.feasible)}"]

    @property
    def gain_text(self) -> str:
        """What one more trial is expected to gain: a number, or less than one that is small; empty if not known."""
        if self.expected_gain is None:
            return ""
        width = abs(self.interval[1] - self.interval[0])
        scale = width if math.isfinite(width) and width > 0 else abs(self.expected)
        least = 10.0 ** (math.floor(math.log10(scale)) - SMALL_GAIN_DIGITS) if scale > 0 else 0.0
        return f"less than {least:g}" if self.expected_gain < least else f"{self.expected_gain:.2g}"

    def _shifted(self) -> str:
        """The mean outcome when contexts shift by the radius of the study, or the largest of the curve."""
        if len(self.worst.columns) == len(WEIGHTS):  # there are no contexts
            return ""
        radii, values = self.curve["radius"].to_numpy(), self.curve["value"].to_numpy()
        own = int(abs(radii - self.radius).argmin())
        place = own if math.isclose(radii[own], self.radius, abs_tol=1e-12) else -1
        verb = "rises to" if values[place] > values[0] else "falls to"
        mean = "" if self.outcomes is None else f"; the mean of {self.outcomes['outcome'].iloc[0]}"
        shift = f"when contexts shift by {radii[place]:.3g} in {distance_label(self.distance)}"
        return f"{mean or ','} {verb} {values[place]:.4g} {shift}"

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
        more = f", {self.gain_text} expected of one more trial" if self.gain_text else ""
        if self.outcomes is not None:
            return f"; {self.gain_meaning} than {self.possible_gain:.2g} (95%)"
        return f"; at most {self.possible_gain:.2g} better is possible (95%){more}"

    __repr__ = __str__


def outcome_text(row: Mapping[Any, Any]) -> str:
    """Return what is wanted of an outcome, and how far a decision meets it, in words.

    Args:
        row: of `Recommendation.outcomes`.

    Example:
        >>> row = {"wanted": "purity at least 0.95", "value": 0.962, "low": 0.951, "high": 0.971}
        >>> outcome_text({**row, "margin": 0.012, "probability": 0.97})
        'purity at least 0.95: 0.962 (90% credible 0.951 to 0.971), margin 0.012, holds with probability 97%'
    """
    found = f"{row['wanted']}: {row['value']:.4g} (90% credible {row['low']:.4g} to {row['high']:.4g})"
    if math.isnan(row["probability"]):
        return found
    return f"{found}, margin {row['margin']:.3g}, holds with probability {as_percent(row['probability'])}"


def as_percent(share: float) -> str:
    """Return a probability in percent; one that is not certain is not rounded to 0% or 100%.

    Example:
        >>> as_percent(0.974), as_percent(0.9996), as_percent(1.0)
        ('97%', 'over 99%', '100%')
    """
    if 0.995 <= share < 1:
        return "over 99%"
    return "under 1%" if 0 < share < 0.005 else f"{100 * share:.0f}%"


def checked_radii(radii: Sequence[float]) -> Tensor:
    """The radii a user wants to know about, as a tensor."""
    chosen = as_tensor(radii, "Study.recommend(radii=...)")
    fits = chosen.ndim == 1 and len(chosen) > 0 and bool((chosen >= 0).all())
    require(fits, "Study.recommend(radii=...)", "be numbers of at least 0", radii)
    return chosen


def _short(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
