"""Decisions that are carried out with an error: the outcome depends on their sum, and on nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import InputTransform
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

from allweather.errors import require
from allweather.space import Space
from allweather.variables import Real


@dataclass(frozen=True)
class InputNoise:
    """A surrogate for contexts that are errors of decisions: a BoTorch GP of what was really carried out.

    So trials without error (reported as 0) teach what happens with one, which a GP of decision and error side by side
    could not know.

    Example:
        >>> from allweather import Context, Study
        >>> space = Space(dose=Real(0, 10), slip=Context(-1, 1))
        >>> noise = InputNoise.of(space, {"slip": "dose"})
        >>> study = Study(space, surrogate=noise, initial=2)
        >>> noise.columns, noise.lower, noise.upper
        ((0,), (-0.1,), (0.1,))
    """

    columns: tuple[int, ...]
    """For each context, the column of the decision that it adds to."""
    lower: tuple[float, ...]
    """Its least value, as a share of that decision's range."""
    upper: tuple[float, ...]
    """Its largest."""

    def __post_init__(self) -> None:
        sizes = len(self.columns), len(self.lower), len(self.upper)
        require(len(set(sizes)) == 1 and sizes[0] > 0, "InputNoise(columns=..., lower=..., upper=...)", "match", sizes)

    @classmethod
    def of(cls, space: Space, errors: Mapping[str, str]) -> InputNoise:
        """The surrogate of a space, all of whose contexts are errors, each in the units of its decision.

        Args:
            space: decisions and errors.
            errors: the decision that each context is an error of.
        """
        require(set(errors) == set(space.contexts), "InputNoise.of(errors=...)", f"name {list(space.contexts)}", errors)
        places, start = dict[str, int](), 0
        for name, variable in space.decisions.items():
            places[name], start = start, start + variable.columns
        columns, lower, upper = [], [], []
        for name in space.contexts:
            decision, error = space.decisions.get(errors[name]), getattr(space.contexts[name], "variable", None)
            for each in (decision, error):
                linear = isinstance(each, Real) and not each.log
                require(linear, f"InputNoise.of(errors={{{name!r}: ...}})", "join real variables of linear scale", each)
            assert isinstance(decision, Real)
            assert isinstance(error, Real)
            width = decision.upper - decision.lower
            columns.append(places[errors[name]])
            lower.append(error.lower / width)
            upper.append(error.upper / width)
        return cls(tuple(columns), tuple(lower), tuple(upper))

    def __call__(self, X: Tensor, Y: Tensor) -> SingleTaskGP:  # noqa: N803 (BoTorch's words)
        """The fitted model of joint points X (t, d_x + d_c) and outcomes Y (t, 1)."""
        model = SingleTaskGP(X, Y, input_transform=_CarriedOut(self))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model.eval()


class _CarriedOut(InputTransform):
    """Decisions with their errors added, which are then 0: BoTorch's sample paths want as many columns as before."""

    is_one_to_many = False

    def __init__(self, noise: InputNoise) -> None:
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
