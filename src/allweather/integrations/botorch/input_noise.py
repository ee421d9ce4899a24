"""A surrogate for input noise: the outcome depends on the sum of decision and error."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from botorch.exceptions.warnings import InputDataWarning
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import InputTransform
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

from allweather.errors import InvalidInput, require
from allweather.space import Space
from allweather.space.variables import Real


@dataclass(frozen=True)
class InputNoise:
    """A surrogate for contexts that are errors of decisions: a BoTorch GP over the sum of decision and error.

    So data without error (reported as 0) also inform about outcomes with one, which a GP over decision and error as
    separate inputs would have to learn. Every context is an error, in the units of its decision.

    Example:
        >>> from allweather import Context, Study
        >>> space = Space(heat=Real(0, 90), dose=Real(0, 10), slip=Context(-1, 1))
        >>> study = Study(space, surrogate=InputNoise({"slip": "dose"}), initial=2)
        >>> InputNoise({"slip": "dose"}).on(space)
        Placed(width=3, columns=(1,), lower=(-0.1,), upper=(0.1,))
    """

    errors: Mapping[str, str]
    """The decision that each context is an error of."""

    def __post_init__(self) -> None:
        named = isinstance(self.errors, Mapping) and len(self.errors) > 0
        require(named, "InputNoise(errors=...)", 'name a decision for each context, {"slip": "dose"}', self.errors)

    def on(self, space: Space) -> Placed:
        """Return the function `(X, Y) -> fitted model` for the variables of a space."""
        errors, names = self.errors, list(space.contexts)
        require(set(errors) == set(names), "InputNoise(errors=...)", f"name the contexts {names}", dict(errors))
        places, start = dict[str, int](), 0
        for name, variable in space.decisions.items():
            places[name], start = start, start + variable.columns
        columns, lower, upper = [], [], []
        for name in names:
            decision = _linear(space.decisions.get(errors[name]), space, name)
            error = _linear(getattr(space.contexts[name], "variable", None), space, name)
            width = decision.upper - decision.lower
            columns.append(places[errors[name]])
            lower.append(error.lower / width)
            upper.append(error.upper / width)
        return Placed(start + len(names), tuple(columns), tuple(lower), tuple(upper))

    def __call__(self, X: Tensor, Y: Tensor, Yvar: Tensor | None = None) -> SingleTaskGP:  # noqa: N803 (BoTorch's)
        """Raise `InvalidInput`: the columns of X have no names."""
        raise InvalidInput(
            "does not know the columns of its variables",
            where="InputNoise",
            remedy="pass it to a study, or call `.on(space)`",
        )


def _linear(variable: object, space: Space, name: str) -> Real:
    """Return a real variable of linear scale, which can have an error or be one."""
    fits = isinstance(variable, Real) and not variable.log
    requirement = f"join real variables of linear scale, one of {list(space.decisions)}"
    require(fits, f"InputNoise(errors={{{name!r}: ...}})", requirement, variable)
    assert isinstance(variable, Real)
    return variable


@dataclass(frozen=True)
class Placed:
    """The errors by column of the unit cube."""

    width: int
    """All columns, those of the errors last."""
    columns: tuple[int, ...]
    """For each context, the column of the decision that it adds to."""
    lower: tuple[float, ...]
    """Its lower bound, as a share of that decision's range."""
    upper: tuple[float, ...]
    """Its upper bound, likewise."""

    def __call__(self, X: Tensor, Y: Tensor, Yvar: Tensor | None = None) -> SingleTaskGP:  # noqa: N803 (BoTorch's)
        """Return the model fitted to joint points X (t, d_x + d_c) and outcomes Y (t, 1) with variances (t, 1)."""
        fits = X.shape[-1] == self.width
        require(fits, "InputNoise(X=...)", f"have {self.width} columns, contexts among them", tuple(X.shape))
        with warnings.catch_warnings():  # the sums may be a little outside of the unit cube
            warnings.simplefilter("ignore", InputDataWarning)
            model = SingleTaskGP(X, Y, Yvar, input_transform=_AddErrors(self))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model.eval()


class _AddErrors(InputTransform):
    """Add errors to decisions and set them to 0, since BoTorch's sample paths need the same number of columns."""

    is_one_to_many = False

    def __init__(self, noise: Placed) -> None:
        super().__init__()
        self.transform_on_train = self.transform_on_eval = self.transform_on_fantasize = True
        self.noise = noise

    def transform(self, X: Tensor) -> Tensor:  # noqa: N803 (name of BoTorch)
        """Return (..., d_x + d_c), in the unit cube or a little outside."""
        noise = self.noise
        decisions, units = X.split([X.shape[-1] - len(noise.columns), len(noise.columns)], -1)
        low, high = X.new_tensor(noise.lower), X.new_tensor(noise.upper)
        into = torch.nn.functional.one_hot(torch.tensor(noise.columns), decisions.shape[-1]).to(X)  # (d_c, d_x)
        realised: Tensor = decisions + (low + units * (high - low)) @ into
        return torch.cat([realised, torch.zeros_like(units)], -1)
