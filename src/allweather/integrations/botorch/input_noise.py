"""Decisions that are carried out with an error: the outcome depends on their sum, and on nothing else."""

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
    """A surrogate for contexts that are errors of decisions: a BoTorch GP of what was really carried out.

    So trials without error (reported as 0) teach what happens with one, which a GP of decision and error side by side
    could not know. All contexts are errors, each in the units of its decision; the study says where both are.

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
        """The function `(X, Y) -> fitted model` for the variables of a space."""
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

    def __call__(self, X: Tensor, Y: Tensor) -> SingleTaskGP:  # noqa: N803 (BoTorch's words)
        """Refused: columns have no names."""
        raise InvalidInput("`InputNoise` must know where its variables are: pass it to a study, or call `.on(space)`")


def _linear(variable: object, space: Space, name: str) -> Real:
    """A variable that errors can be added to, or that is such an error."""
    fits = isinstance(variable, Real) and not variable.log
    requirement = f"join real variables of linear scale, one of {list(space.decisions)}"
    require(fits, f"InputNoise(errors={{{name!r}: ...}})", requirement, variable)
    assert isinstance(variable, Real)
    return variable


@dataclass(frozen=True)
class Placed:
    """Errors by column of the unit cube."""

    width: int
    """All columns, those of the errors last."""
    columns: tuple[int, ...]
    """For each context, the column of the decision that it adds to."""
    lower: tuple[float, ...]
    """Its least value, as a share of that decision's range."""
    upper: tuple[float, ...]
    """Its largest."""

    def __call__(self, X: Tensor, Y: Tensor) -> SingleTaskGP:  # noqa: N803 (BoTorch's words)
        """The fitted model of joint points X (t, d_x + d_c) and outcomes Y (t, 1)."""
        fits = X.shape[-1] == self.width
        require(fits, "InputNoise(X=...)", f"have {self.width} columns, contexts among them", tuple(X.shape))
        with warnings.catch_warnings():  # what is carried out may lie a little outside of the unit cube
            warnings.simplefilter("ignore", InputDataWarning)
            model = SingleTaskGP(X, Y, input_transform=_CarriedOut(self))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model.eval()


class _CarriedOut(InputTransform):
    """Decisions with their errors added, which are then 0: BoTorch's sample paths want as many columns as before."""

    is_one_to_many = False

    def __init__(self, noise: Placed) -> None:
        super().__init__()
        self.transform_on_train = self.transform_on_eval = self.transform_on_fantasize = True
        self.noise = noise

    def transform(self, X: Tensor) -> Tensor:  # noqa: N803 (BoTorch's word)
        """(..., d_x + d_c), in the unit cube or a little outside."""
        noise = self.noise
        decisions, units = X.split([X.shape[-1] - len(noise.columns), len(noise.columns)], -1)
        low, high = X.new_tensor(noise.lower), X.new_tensor(noise.upper)
        into = torch.nn.functional.one_hot(torch.tensor(noise.columns), decisions.shape[-1]).to(X)  # (d_c, d_x)
        carried: Tensor = decisions + (low + units * (high - low)) @ into
        return torch.cat([carried, torch.zeros_like(units)], -1)
