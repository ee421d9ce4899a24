"""Results: what was measured of each outcome of a trial, where a study has several outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from allweather.errors import InvalidInput, name_mismatch, require, shown
from allweather.surrogates.hyperparameters import Hyperparameters
from allweather.trials.reported_values import StandardErrors, reported_outcomes, standard_errors

Failed = bool | str | Sequence[str]
"""Whether all outcomes failed, or which of them did."""


@dataclass(frozen=True)
class Result:
    """What is known of one outcome of a trial.

    Example:
        >>> Result().resolved, Result((93.1,)).resolved, Result(failed=True).resolved
        (False, True, True)
    """

    values: tuple[float, ...] = ()
    """What was measured: several values where it was measured repeatedly; empty until it is."""
    sds: tuple[float | None, ...] = ()
    """Standard errors, one each, None where not known; empty where none is known."""
    failed: bool = False
    """Whether there will be no value."""
    fitted: Hyperparameters | None = field(default=None, repr=False)
    """The hyperparameters of the outcome's surrogate when the trial was asked for."""

    @property
    def resolved(self) -> bool:
        """Whether nothing more is expected."""
        return self.failed or bool(self.values)

    def told(self, new: Result, where: str) -> Result:
        """Return this result with what was told; what was told before stays, and cannot change.

        Args:
            new: what was told.
            where: what errors call it.
        """
        fits = not (self.failed and new.values) and not (self.values and new.failed)
        fits = fits and (not self.values or not new.values or new.values == self.values)
        require(fits, where, f"be told once; it was {shown(self.values or 'failed')}", new.values or "failed")
        return new if new.fitted or not self.fitted else replace(new, fitted=self.fitted)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data; fields that have their default are left out."""
        told = {name: value for name, value in asdict(self).items() if value != _DEFAULTS[name]}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Result:
        """The result that `to_dict` wrote."""
        given = {**data, "values": tuple(data.get("values", ())), "sds": tuple(data.get("sds", ()))}
        if given.get("fitted") is not None:
            given["fitted"] = Hyperparameters.from_dict(given["fitted"])
        return cls(**given)


_DEFAULTS = {each.name: each.default for each in fields(Result)}
Results = Mapping[str, Result]


def encode_results(results: Results) -> dict[str, Any]:
    """Return results as plain data."""
    return {name: result.to_dict() for name, result in results.items()}


def decode_results(data: Mapping[str, Any]) -> dict[str, Result]:
    """Return the results that `encode_results` wrote."""
    return {str(name): Result.from_dict(result) for name, result in data.items()}


def merge_results(known: Results, new: Results, where: str) -> dict[str, Result]:
    """Return results with what was told of some of them.

    Args:
        known: what was told before.
        new: what is told now.
        where: what errors call the trial.
    """
    named = {name: known[name].told(each, f"{where}: {name}") for name, each in new.items()}
    return {**known, **named}


def reported_results(
    names: Sequence[str],
    value: Any,
    sd: Mapping[str, StandardErrors] | StandardErrors,
    failed: Failed,
    where: str,
) -> dict[str, Result]:
    """Return what a user reports of the outcomes of a trial; refuse what does not fit their names.

    Args:
        names: of all outcomes.
        value: a value, or a list of repeated ones, for some of the outcomes by name.
        sd: standard errors by name.
        failed: which outcomes failed; True for all that have no value.
        where: what errors call the report, such as `Study.tell`.

    Example:
        >>> told = reported_results(["yield", "purity"], {"yield": 93.1}, {"yield": 0.2}, ["purity"], "Study.tell")
        >>> told["yield"].sds, told["purity"].failed
        ((0.2,), True)
    """
    example = f'be given by name, such as {{"{names[0]}": 1.5}}'
    fits = value is None or isinstance(value, Mapping)
    require(fits, f"{where}(value=...)", example, value)
    require(sd is None or isinstance(sd, Mapping), f"{where}(sd=...)", example, sd)
    errors: Mapping[str, Any] = sd if isinstance(sd, Mapping) else {}
    listed = [failed] if isinstance(failed, str) else [] if isinstance(failed, bool) else list(failed)
    given = {name: each for name, each in (value or {}).items() if each is not None}
    for what, part in (("value", given), ("sd", errors), ("failed", listed)):
        strange = [name for name in part if name not in names]
        if strange:
            mismatch = name_mismatch(names, [*names, *strange])
            raise InvalidInput(mismatch or "", where=f"{where}({what}=...)", remedy=f"outcomes are {', '.join(names)}")
    both = [name for name in listed if name in given]
    require(not both, f"{where}(failed=...)", "not name an outcome that has a value", both)
    alone = [name for name in errors if name not in given and errors[name] is not None]
    require(not alone, f"{where}(sd=...)", "be told with the outcome", alone)
    found = {}
    for name, each in given.items():
        values = reported_outcomes(each, f"{where}(value=...) {name}")
        found[name] = Result(values, standard_errors(errors.get(name), values, f"{where}(sd=...) {name}"))
    return {**found, **{name: Result(failed=True) for name in listed}}
