"""Acquisition functions under uncertain contexts for BoTorch's `optimize_acqf`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from botorch.utils.transforms import t_batch_mode_transform
from torch import Generator, Tensor

from allweather._utils.timing import one_thread
from allweather.acquisition import Acquisition, Belief
from allweather.acquisition.base import Score
from allweather.contexts import Reference
from allweather.engine.batch import PendingPenalty
from allweather.errors import require, require_count
from allweather.objectives import Objective
from allweather.schedules import Progress
from allweather.surrogates import Posterior, ProductPosterior
from allweather.surrogates.botorch_model import ModelPosterior
from allweather.surrogates.observations import Observations

WHERE = "RobustAcquisition"


class RobustAcquisition(AcquisitionFunction):
    """An acquisition function of an objective under uncertain contexts, for one decision at a time (q = 1).

    Batches are chosen sequentially, `optimize_acqf(..., q=4, sequential=True)`: the model is conditioned on the
    posterior mean of pending decisions in contexts drawn from the reference, and the acquisition is lowered within some
    hundredths of the unit cube around them.

    Example:
        >>> from allweather import CVaR, GP, UCB
        >>> seen = Observations.of([[0.0], [0.5], [1.0]], [[0.2], [0.4], [0.6]], [0.0, 1.0, 0.0])
        >>> reference = Reference.checked([[0.2], [0.6]], [0.3, 0.7])
        >>> score = RobustAcquisition(GP().fit(seen), seen, UCB(1.5), CVaR(0.4), reference)
        >>> score(torch.rand(7, 1, 1, dtype=torch.float64)).shape
        torch.Size([7])
    """

    def __init__(
        self,
        model: Model | ProductPosterior,
        observations: Observations,
        acquisition: Acquisition,
        objective: Objective,
        reference: Reference,
        X_pending: Tensor | None = None,  # noqa: N803 (name of BoTorch)
        seed: int = 0,
    ) -> None:
        """Create an acquisition function.

        Args:
            model: a fitted BoTorch model with one outcome, whose inputs are decisions followed by contexts; or the
                result of `GP().fit(observations)`, which is faster. Outcomes are maximised.
            observations: the data of the model.
            acquisition: such as `UCB(1.5)`, `Thompson()` or `ExpectedImprovement()`.
            objective: the uncertainty objective, such as `DRO(KL(0.2))`.
            reference: the contexts and their probabilities.
            X_pending: (m, d_x) decisions without outcomes yet.
            seed: of the random numbers.

        Raises:
            InvalidInput: if an argument does not meet its requirement.
        """
        _check(observations, acquisition, objective, reference)
        require_count(seed, f"{WHERE}(seed=...)")
        reference = Reference.checked(*reference, f"{WHERE}(reference=...)")
        fits = observations.contexts.shape[1] == reference.points.shape[1]
        shapes = (tuple(observations.contexts.shape), tuple(reference.points.shape))
        require(fits, f"{WHERE}(reference=...)", "have as many context columns as the observations", shapes)
        super().__init__(model=model.model() if isinstance(model, ProductPosterior) else _single(model))
        split = observations.decisions.shape[1]
        posterior = model if isinstance(model, ProductPosterior) else ModelPosterior.of(model, split)
        progress = progress_of(posterior, observations, reference)
        self.acquisition, self._seed = acquisition, seed
        self._score: Score
        self._belief = Belief(posterior, reference, objective.at(progress), observations, progress, Generator())
        self.set_X_pending(X_pending)

    @one_thread
    def set_X_pending(self, X_pending: Tensor | None = None) -> None:  # noqa: N802, N803 (name of BoTorch)
        """Set the pending decisions (m, d_x), and build the acquisition again."""
        split = self._belief.observations.decisions.shape[1]
        if X_pending is not None:
            fits = X_pending.ndim == 2 and X_pending.shape[1] == split
            require(fits, f"{WHERE}(X_pending=...)", f"have shape (m, {split})", tuple(X_pending.shape))
        super().set_X_pending(X_pending)
        waiting = 0 if self.X_pending is None else len(self.X_pending)
        state = np.random.SeedSequence([self._seed, waiting]).generate_state(1, np.uint64)[0]
        belief = replace(self._belief, generator=Generator().manual_seed(int(state) % 2**63))
        if self.X_pending is None or not waiting:
            self._score = self.acquisition.build(belief)
            return
        belief = replace(belief, surrogate=belief.surrogate.given(drawn_contexts(self.X_pending, belief)))
        score = self.acquisition.build(belief)
        self._score = PendingPenalty.of(score, self.X_pending.double(), belief.observations.decisions)

    @t_batch_mode_transform(expected_q=1)  # type: ignore[arg-type]
    def forward(self, X: Tensor) -> Tensor:  # noqa: N803 (name of BoTorch)
        """Return the acquisition (batch_shape) of decisions (batch_shape x 1 x d_x)."""
        split = self._belief.observations.decisions.shape[1]
        require(X.shape[-1] == split, f"{WHERE}(X=...)", f"have {split} columns of decisions", tuple(X.shape))
        score = one_thread(self._score)
        return score(X.reshape(-1, split).double()).reshape(X.shape[:-2]).to(X.dtype)


def progress_of(posterior: Posterior, observations: Observations, reference: Reference) -> Progress:
    """Return what schedules depend on.

    Args:
        posterior: the fitted model.
        observations: its data.
        reference: the contexts and their probabilities.
    """
    return Progress(
        step=max(len(observations), 1),
        decision_dim=observations.decisions.shape[1],
        context_dim=max(reference.points.shape[1], 1),
        information_gain=posterior.information_gain,
        contexts=len(reference.points),
        context_kernel=posterior.context_kernel,
    )


def drawn_contexts(decisions: Tensor, belief: Belief) -> Tensor:
    """Return joint points (m, d) of decisions, with contexts drawn from the reference."""
    points, weights = belief.reference
    places = torch.multinomial(weights.cpu(), len(decisions), replacement=True, generator=belief.generator)
    return torch.cat([decisions.double(), points[places]], 1)


def _check(observations: object, acquisition: object, objective: object, reference: object) -> None:
    expected = [
        ("observations", observations, Observations, "Observations.of(decisions, contexts, values)"),
        ("acquisition", acquisition, Acquisition, "an acquisition such as UCB(1.5)"),
        ("objective", objective, Objective, "an objective such as DRO(KL(0.2))"),
        ("reference", reference, Reference, "a Reference"),
    ]
    for name, part, kind, example in expected:
        require(isinstance(part, kind), f"{WHERE}({name}=...)", f"be {example}", part)


def _single(model: Model) -> Model:
    """Return a model after checking that it has one outcome per joint point."""
    require(isinstance(model, Model), f"{WHERE}(model=...)", "be a BoTorch model or the result of GP().fit", model)
    require(model.num_outputs == 1, f"{WHERE}(model=...)", "have one outcome", model.num_outputs)
    several = getattr(getattr(model, "input_transform", None), "is_one_to_many", False)
    requirement = "not append contexts, since those of the reference are used"
    require(not several, f"{WHERE}(model=...)", requirement, type(model).__name__)
    return model
