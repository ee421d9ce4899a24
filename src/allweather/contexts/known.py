"""A known law of the contexts, sampled with quasi-Monte-Carlo where the law allows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
import torch
from torch import Generator, Tensor

from allweather._utils.tensors import as_tensor
from allweather.contexts.base import ContextModel, Reference, sobol, with_unseen
from allweather.errors import MAX_COUNT, InvalidInput, is_number, require, require_count, require_number
from allweather.space import Box, Choice, Context, Integer, Real
from allweather.space.variables import Value, Variable

Sampler = Callable[[int, np.random.Generator], Any]
"""A joint sampler: how many rows, and the generator to draw them with."""


@dataclass(frozen=True, eq=False)
class Known(ContextModel):
    """Contexts follow a law that is known.

    The law is one frozen SciPy law for a single context variable; a sequence of them, or a dictionary by name, for
    independent variables; or, for dependent ones, a joint sampler `sampler(n, generator) -> (n, d_c)`. It speaks
    the user's units once `on` was called, else the unit cube. Draws outside the box are clipped to it, as in kde.

    Integers have a SciPy law too, discrete or rounded; a choice has shares: `Known({"lot": {"A": 0.3, "B": 0.7}})`.

    Example:
        >>> import scipy.stats
        >>> law = Known(scipy.stats.norm(0.5, 0.1), samples=256)
        >>> points = law.reference(torch.empty(0, 1), 1, torch.Generator().manual_seed(0)).points
        >>> round(points.mean().item(), 3), round(points.std().item(), 3)
        (0.5, 0.1)
    """

    law: Any
    samples: int = 1024
    """Points of the reference; powers of two spread best."""
    unseen: int = 0
    """Zero-weight points added where nature could go."""
    box: Box | None = None

    def __post_init__(self) -> None:
        require_count(self.samples, "Known(samples=...)", low=1, high=MAX_COUNT)
        require_count(self.unseen, "Known(unseen=...)", high=MAX_COUNT)
        if isinstance(self.law, Mapping):
            laws = {name: Shares.of(law) if isinstance(law, Mapping) else law for name, law in self.law.items()}
            object.__setattr__(self, "law", laws)
        if not _is_sampler(self.law):
            self._laws()

    @property
    def independent(self) -> bool:
        """Whether there is a law for each variable, and no joint sampler."""
        return not _is_sampler(self.law)

    def _on(self, box: Box) -> Self:
        """The same law, read in the units of `box`."""
        for name, variable in box.items():
            inner = _inner(variable)
            law = self.law.get(name) if isinstance(self.law, Mapping) else None
            if isinstance(law, Shares) or isinstance(inner, Choice):
                fits = isinstance(law, Shares) and isinstance(inner, Choice)
                require(fits, f"Known(law=...) of {name}", "be shares of options where it is a choice", inner)
                for option in law.options if isinstance(law, Shares) else ():
                    inner.encode(option, f"Known(law=...) of {name}")
        if isinstance(self.law, Mapping):
            require(set(self.law) == set(box), "Known(law=...)", f"name exactly {list(box)}", list(self.law))
        elif not _is_sampler(self.law):
            laws = self._laws()
            require(
                len(laws) == len(box),
                "Known(law=...)",
                f"have a law for each of {list(box)}",
                f"{len(laws)} laws",
            )
        return replace(self, box=box)

    def among(self, names: Sequence[str], everything: Sequence[str]) -> Known:
        """The laws of these variables, or these columns of the joint draws."""
        law = self.law
        if isinstance(law, Mapping):
            missing = [name for name in names if name not in law]
            require(not missing, "Known(law=...)", f"have a law for {', '.join(map(repr, missing))}", list(law))
            strange = [name for name in law if name not in everything]
            require(not strange, "Known(law=...)", f"have laws of {list(everything)} only", strange)
            return replace(self, law={name: law[name] for name in names})
        places = [list(everything).index(name) for name in names]
        if not _is_sampler(law):
            laws = self._laws()
            fits = len(laws) == len(everything)
            require(fits, "Known(law=...)", f"have a law for each of {list(everything)}", f"{len(laws)} laws")
            return replace(self, law=[laws[place] for place in places])
        return replace(self, law=_Columns(replace(self, box=None), tuple(places), tuple(everything)))

    def reference(self, contexts: Tensor, step: int, generator: Generator) -> Reference:
        """Equally weighted draws of the law, fixed for this step."""
        if _is_sampler(self.law):
            draws = self._joint_draws(generator)
        else:
            laws = self._laws()
            uniform = sobol(self.samples, len(laws), generator).numpy()
            columns = [law.ppf(uniform[:, i]) for i, law in enumerate(laws)]
            draws = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
        require(not bool(np.isnan(draws).any()), "Known(law=...)", "draw numbers", "NaN")
        points = self._to_unit(draws)
        weights = torch.full((self.samples,), 1 / self.samples, dtype=torch.float64)
        return with_unseen(Reference(points, weights), self.unseen, generator)

    def _joint_draws(self, generator: Generator) -> np.ndarray:
        seed = int(torch.randint(2**31 - 1, (), generator=generator).item())
        return self._drawn(np.random.default_rng(seed))

    def _drawn(self, source: np.random.Generator) -> np.ndarray:
        law = self.law
        drawn = law.rvs(size=self.samples, random_state=source) if hasattr(law, "rvs") else law(self.samples, source)
        draws = np.asarray(drawn)
        require(draws.dtype.kind in "biuf", "Known(law=...)", "draw numbers", drawn)
        draws = draws[:, None] if draws.ndim == 1 else draws
        expected = (self.samples, draws.shape[-1] if self.box is None else len(self.box))
        require(draws.shape == expected, "Known(law=...)", f"draw an array of shape {expected}", draws.shape)
        return draws.astype(np.float64)

    def _to_unit(self, draws: np.ndarray) -> Tensor:
        if self.box is None:
            return as_tensor(np.clip(draws, 0, 1), "Known(law=...)")
        laws = self.law if isinstance(self.law, Mapping) else {}
        columns = [
            _unit_columns(_inner(variable), laws.get(name), draws[:, place])
            for place, (name, variable) in enumerate(self.box.items())
        ]
        return as_tensor(np.concatenate(columns, axis=1), "Known(law=...)")

    def _laws(self) -> list[Any]:
        if isinstance(self.law, Mapping):
            names = list(self.law) if self.box is None else list(self.box)
            laws = [self.law[name] for name in names]
        else:
            several = isinstance(self.law, Sequence) and not isinstance(self.law, str)
            laws = list(self.law) if several else [self.law]
        require(len(laws) > 0, "Known(law=...)", "have a law for each context variable", self.law)
        import scipy.stats  # here, since it takes longer than the rest of the library

        for law in laws:
            # The distribution itself has a `ppf` too, but takes its parameters on every call.
            if not hasattr(law, "ppf") or isinstance(law, scipy.stats.rv_continuous | scipy.stats.rv_discrete):
                raise InvalidInput(
                    "`Known(law=...)` must be frozen SciPy laws (with a `ppf`) or a joint sampler, "
                    f"got {law!r:.80}; a distribution is frozen by calling it: `scipy.stats.norm(0.5, 0.1)`"
                )
        return laws


@dataclass(frozen=True)
class Shares:
    """Probabilities of the options of a choice."""

    options: tuple[Value, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, table: Mapping[Value, float]) -> Shares:
        """Options with their probabilities, which sum to 1."""
        numbers = all(is_number(share) and share >= 0 for share in table.values())
        fits = numbers and len(table) > 0 and abs(sum(table.values()) - 1) < 1e-9
        require(fits, "Known(law=...)", "have shares of at least 0 that sum to 1", dict(table))
        return cls(tuple(table), tuple(float(share) for share in table.values()))

    def ppf(self, uniform: np.ndarray) -> np.ndarray:
        """Places of options, for uniform numbers."""
        ends = np.cumsum(self.weights)
        places = np.searchsorted(ends, uniform * ends[-1]).clip(0, len(self.options) - 1)
        return np.asarray(places, dtype=np.float64)


def _inner(variable: Variable) -> Variable:
    return variable.variable if isinstance(variable, Context) else variable


def _unit_columns(variable: Variable, law: Any, draws: np.ndarray) -> np.ndarray:
    """Columns (n, columns) of the unit cube of a variable's draws (n,)."""
    if isinstance(law, Shares):
        options = np.array([variable.encode(option, "Known(law=...)") for option in law.options])
        return np.asarray(options[draws.astype(int)])
    if isinstance(variable, Integer):
        whole = np.clip(np.rint(draws), variable.lower, variable.upper)
        return np.asarray((whole - variable.lower) / (variable.upper - variable.lower))[:, None]
    assert isinstance(variable, Real)
    return variable.to_unit(draws)[:, None]


def _is_sampler(law: Any) -> bool:
    if hasattr(law, "ppf") or isinstance(law, (Mapping, Sequence)):
        return False
    return callable(law) or hasattr(law, "rvs")


@dataclass(frozen=True, eq=False)
class _Columns:
    """A joint sampler of some of the variables that another one draws."""

    whole: Known
    places: tuple[int, ...]
    everything: tuple[str, ...]

    def __call__(self, n: int, source: np.random.Generator) -> np.ndarray:
        draws = replace(self.whole, samples=n)._drawn(source)
        requirement = f"draw a column for each of {list(self.everything)}"
        require(draws.shape[1] == len(self.everything), "Known(law=...)", requirement, draws.shape)
        return np.asarray(draws[:, list(self.places)])


def truncated_normal(mean: float, variance: float, lower: float = 0.0, upper: float = 1.0) -> Any:
    """The normal law centred at `mean`, cut off at `lower` and `upper`, whose variance is `variance` after the cut.

    The uniform law on the box, with a variance of a twelfth of its squared width, is the limit of wide normals.

    Example:
        >>> law = truncated_normal(0.5, 0.04)
        >>> round(float(law.var()), 6), round(law.kwds["scale"], 3)
        (0.04, 0.214)
    """
    import scipy.stats

    for number, name in ((mean, "mean"), (lower, "lower"), (upper, "upper")):
        require_number(number, f"truncated_normal({name}=...)")
    require(lower < upper, "truncated_normal(lower=..., upper=...)", "be a range", (lower, upper))
    require(lower <= mean <= upper, "truncated_normal(mean=...)", f"lie between {lower:g} and {upper:g}", mean)
    require_number(variance, "truncated_normal(variance=...)", above=0)
    width = upper - lower
    widest = scipy.stats.uniform(0, width).var()
    require(variance < widest, "truncated_normal(variance=...)", f"be below {widest:g}, the uniform law's", variance)

    enough = _law(mean, 1e3 * width, lower, upper).var() > variance
    require(bool(enough), "truncated_normal(variance=...)", f"be clearly below {widest:g}, the uniform law's", variance)
    return _law(mean, _scale(mean, variance, lower, upper), lower, upper)


@lru_cache(maxsize=1024)
def _scale(mean: float, variance: float, lower: float, upper: float) -> float:
    """The scale before the cut; kept, since a campaign builds the same problem many times."""
    from scipy.optimize import brentq

    narrow, wide = 0.5 * variance**0.5, 1e3 * (upper - lower)
    return float(brentq(lambda scale: _law(mean, scale, lower, upper).var() - variance, narrow, wide, xtol=1e-14))


def _law(mean: float, scale: float, lower: float, upper: float) -> Any:
    import scipy.stats

    return scipy.stats.truncnorm(a=(lower - mean) / scale, b=(upper - mean) / scale, loc=mean, scale=scale)
