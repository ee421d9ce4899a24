"""Acquisition functions of several outcomes under uncertain contexts for BoTorch's `optimize_acqf`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model, ModelList
from botorch.utils.transforms import t_batch_mode_transform
from torch import Generator, Tensor

from allweather._utils.timing import one_thread
from allweather.acquisition import Acquisition, Belief
from allweather.acquisition.base import Score
from allweather.acquisition.joint import JointBelief, joint_score
from allweather.acquisition.limits import Limit
from allweather.contexts import Reference
from allweather.engine.batch import PendingPenalty
from allweather.errors import require, require_count
from allweather.integrations.botorch.acquisition import drawn_contexts, progress_of
from allweather.objectives import Expectation, Outcome
from allweather.objectives.outcomes import check_outcomes
from allweather.surrogates import GP, BoTorch, ProductPosterior, Surrogate
from allweather.surrogates.botorch_model import ModelPosterior
from allweather.surrogates.observations import Observations

WHERE = "RobustOutcomesAcquisition"


class RobustOutcomesAcquisition(AcquisitionFunction):
    """An acquisition function of several outcomes under uncertain contexts, for one decision at a time (q = 1).

    Several objectives are combined by a random augmented Chebyshev scalarisation, and limits are kept optimistically,
    as in `Study(outcomes=...)`. Batches are chosen sequentially, as with `RobustAcquisition`.

    Example:
        >>> import torch
        >>> from allweather import AtLeast, Maximize, ObjectiveUCB
        >>> x, c = [[0.0], [0.5], [1.0]], [[0.2], [0.4], [0.6]]
        >>> told = {"yield": Observations.of(x, c, [0.0, 1.0, 2.0]), "purity": Observations.of(x, c, [1.0, 0.9, 0.7])}
        >>> wanted = {"yield": Maximize(), "purity": AtLeast(0.8)}
        >>> reference = Reference.checked([[0.2], [0.6]], [0.3, 0.7])
        >>> score = RobustOutcomesAcquisition(wanted, told, ObjectiveUCB(), reference)
        >>> score(torch.rand(7, 1, 1, dtype=torch.float64)).shape
        torch.Size([7])
    """

    def __init__(
        self,
        outcomes: Mapping[str, Outcome],
        observations: Mapping[str, Observations],
        acquisition: Acquisition,
        reference: Reference,
        surrogate: Surrogate | Callable[[Tensor, Tensor], Model] | None = None,
        X_pending: Tensor | None = None,  # noqa: N803 (name of BoTorch)
        seed: int = 0,
    ) -> None:
        """Create an acquisition function, and fit a model to each outcome.

        Args:
            outcomes: what is wanted of each, by name.
            observations: the data of each, as they were measured.
            acquisition: `ObjectiveUCB()`, `UCB()`, `Thompson()`, or with one objective `ExpectedImprovement()`.
            reference: the contexts and their probabilities.
            surrogate: a `GP(...)`, or a function `(X, Y) -> fitted BoTorch model`; an outcome's own comes first.
            X_pending: (m, d_x) decisions without outcomes yet.
            seed: of the random numbers.

        Raises:
            InvalidInput: if an argument does not meet its requirement.
        """
        check_outcomes(outcomes, ())
        named = isinstance(observations, Mapping) and set(observations) == set(outcomes)
        named = named and all(isinstance(each, Observations) for each in observations.values())
        requirement = f"hold Observations of each of {', '.join(outcomes)}"
        require(named, f"{WHERE}(observations=...)", requirement, observations)
        acquisition.check_objectives(sum(not each.constrains for each in outcomes.values()))
        require_count(seed, f"{WHERE}(seed=...)")
        require(isinstance(reference, Reference), f"{WHERE}(reference=...)", "be a Reference", reference)
        reference = Reference.checked(*reference, f"{WHERE}(reference=...)")
        fitted_by = surrogate if isinstance(surrogate, Surrogate) else GP() if surrogate is None else BoTorch(surrogate)
        beliefs = {
            name: _belief(each, observations[name], each.surrogate or fitted_by, reference)
            for name, each in outcomes.items()
        }
        super().__init__(model=ModelList(*(_model(each) for each in beliefs.values())))
        self._beliefs = beliefs
        self.outcomes, self.acquisition, self._seed = dict(outcomes), acquisition, seed
        self._score: Score
        self.set_X_pending(X_pending)

    @one_thread
    def set_X_pending(self, X_pending: Tensor | None = None) -> None:  # noqa: N802, N803 (name of BoTorch)
        """Set the pending decisions (m, d_x), and build the acquisition again."""
        if X_pending is not None:
            fits = X_pending.ndim == 2 and X_pending.shape[1] == self._columns
            require(fits, f"{WHERE}(X_pending=...)", f"have shape (m, {self._columns})", tuple(X_pending.shape))
        super().set_X_pending(X_pending)
        waiting = 0 if self.X_pending is None else len(self.X_pending)
        beliefs = dict[str, Belief]()
        for place, (name, belief) in enumerate(self._beliefs.items()):
            state = np.random.SeedSequence([self._seed, waiting, place]).generate_state(1, np.uint64)[0]
            beliefs[name] = replace(belief, generator=Generator().manual_seed(int(state) % 2**63))
            if self.X_pending is not None and waiting:
                points = drawn_contexts(self.X_pending, beliefs[name])
                beliefs[name] = replace(beliefs[name], surrogate=belief.surrogate.given(points))
        score = joint_score(self.acquisition, self._joint(beliefs))
        if self.X_pending is not None and waiting:
            seen = next(iter(beliefs.values())).observations.decisions
            score = PendingPenalty.of(score, self.X_pending.double(), seen)
        self._score = score

    @t_batch_mode_transform(expected_q=1)  # type: ignore[arg-type]
    def forward(self, X: Tensor) -> Tensor:  # noqa: N803 (name of BoTorch)
        """Return the acquisition (batch_shape) of decisions (batch_shape x 1 x d_x)."""
        split = self._columns
        require(X.shape[-1] == split, f"{WHERE}(X=...)", f"have {split} columns of decisions", tuple(X.shape))
        score = one_thread(self._score)
        return score(X.reshape(-1, split).double()).reshape(X.shape[:-2]).to(X.dtype)

    @property
    def _columns(self) -> int:
        return int(next(iter(self._beliefs.values())).observations.decisions.shape[1])

    def _joint(self, beliefs: Mapping[str, Belief]) -> JointBelief:
        wanted = tuple(beliefs[name] for name, each in self.outcomes.items() if not each.constrains)
        limits = {name: each for name, each in self.outcomes.items() if each.constrains}
        kept = tuple(Limit(beliefs[name], each.level(beliefs[name].objective)) for name, each in limits.items())
        return JointBelief(wanted, kept)


def _belief(outcome: Outcome, observations: Observations, fitted_by: Surrogate, reference: Reference) -> Belief:
    signed = replace(observations, values=outcome.sign * observations.values)
    posterior = fitted_by.facing(outcome.sign).fit(signed)
    progress = progress_of(posterior, signed, reference)
    objective = (outcome.measure or Expectation()).facing(outcome.sign).at(progress)
    return Belief(posterior, reference, objective, signed, progress, Generator())


def _model(belief: Belief) -> Model:
    posterior = belief.surrogate
    if isinstance(posterior, ModelPosterior):
        return posterior.botorch
    require(isinstance(posterior, ProductPosterior), f"{WHERE}(surrogate=...)", "have a BoTorch model", posterior)
    assert isinstance(posterior, ProductPosterior)
    return posterior.model()
