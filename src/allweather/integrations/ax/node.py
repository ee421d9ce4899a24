"""The generation node: Ax keeps the trials, a study of ours is made of them whenever it asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ax.api.client import Client
from ax.core.data import Data
from ax.core.experiment import Experiment
from ax.core.generator_run import GeneratorRun
from ax.core.observation import ObservationFeatures
from ax.core.types import TParameterization
from ax.generation_strategy.external_generation_node import ExternalGenerationNode
from ax.generation_strategy.generation_strategy import GenerationStrategy
from ax.generation_strategy.transition_criterion import TransitionCriterion
from ax.storage.json_store.decoder import object_from_json
from ax.storage.json_store.registry import CORE_DECODER_REGISTRY, CORE_ENCODER_REGISTRY
from botorch.models.model import Model
from torch import Tensor

from allweather.acquisition import Acquisition
from allweather.contexts import ContextModel
from allweather.engine.recommendation import Recommendation
from allweather.errors import InvalidInput, is_number, require
from allweather.integrations.ax.history import TrialHistory
from allweather.integrations.ax.parameters import WHERE
from allweather.integrations.ax.saved import decode_state, encode_state
from allweather.integrations.options import StudyOptions, only_contexts
from allweather.methods.composition import Composition
from allweather.objectives import Objective
from allweather.space import Space
from allweather.space.variables import Choice
from allweather.study import Study
from allweather.surrogates import Surrogate
from allweather.trials import Row, Trial


class AllweatherNode(ExternalGenerationNode):
    """Generates trials of an Ax experiment whose outcomes depend on uncertain contexts.

    Each trial reports what happened as metrics named like the contexts, beside its outcome. All that the node knows it
    reads from the experiment, so it can be saved, loaded and gone on with. Fixed and derived parameters, steps,
    logarithmic scales and linear parameter constraints are kept; what a node of this kind would ignore is refused.

    Example:
        >>> from allweather import Context, CVaR
        >>> node = AllweatherNode(Space(demand=Context(0, 1)), objective=CVaR(0.3), seed=7)
        >>> node.strategy().name
        'allweather'
    """

    def __init__(
        self,
        space: Space,
        *,
        method: str | Composition | None = None,
        context: ContextModel | None = None,
        objective: Objective | None = None,
        acquisition: Acquisition | None = None,
        surrogate: Surrogate | Callable[[Tensor, Tensor], Model] | None = None,
        initial: int | None = None,
        seed: int = 0,
        name: str = "allweather",
        transition_criteria: Sequence[TransitionCriterion] | None = None,
    ) -> None:
        """A node for experiments with these contexts; the other words are those of `Study`.

        Args:
            space: the contexts, such as `Space(demand=Context(0, 1))`; metrics are numbers, so they are too.
            method: a published method by name, or a composition; the parts below replace its own.
            context: what is believed about the contexts.
            objective: what is wanted of a decision.
            acquisition: how the next decision is chosen.
            surrogate: a `GP(...)`, or a function `(X, Y) -> BoTorch model`, which cannot be saved.
            initial: how many decisions are spread out before the surrogate is asked.
            seed: the same seed and the same answers give the same study, also from a file.
            name: of the node in its strategy.
            transition_criteria: when to go on to another node, as in Ax.
        """
        # A choice may repeat a trial: its context will not.
        super().__init__(name=name, should_deduplicate=False, transition_criteria=transition_criteria)
        self.space = only_contexts(space, WHERE)
        for named, variable in space.contexts.items():
            choices = getattr(variable, "variable", variable)
            words = isinstance(choices, Choice) and not all(
                is_number(o) or isinstance(o, bool) for o in choices.options
            )
            require(
                not words, f"{WHERE}(space=...)", "have contexts that are numbers, as metrics are", (named, choices)
            )
        self.options = StudyOptions(method, context, objective, acquisition, surrogate, initial, seed)
        self._history: TrialHistory | None = None
        self._batch: list[Row] = []
        """What was decided since the experiment was read: all of it is new, also what was tried before."""

    @classmethod
    def of(cls, client: Client) -> AllweatherNode:
        """The node of a client, also of one that was loaded from a file: of several the one at work, else the first."""
        strategy: GenerationStrategy = client._generation_strategy
        nodes = [strategy._curr, *strategy.nodes_by_name.values()]
        found = [node for node in nodes if isinstance(node, cls)]
        require(bool(found), f"{WHERE}.of(client=...)", "have a strategy with such a node", strategy.name)
        return found[0]

    def strategy(self) -> GenerationStrategy:
        """A strategy of this node alone, for `client.set_generation_strategy`."""
        return GenerationStrategy(nodes=[self], name=self.name)

    def update_generator_state(self, experiment: Experiment, data: Data) -> None:
        """Reads the experiment again; nothing is fitted yet."""
        self._batch = []
        self._history = TrialHistory.of(experiment, data, self.space)

    def get_next_candidate(self, pending_parameters: list[TParameterization]) -> TParameterization:
        """The next decision, given all trials and what was generated with it."""
        history = self._history
        assert history is not None  # Ax reads first
        trials = history.trials()
        known = [trial.decision for trial in trials] + self._batch  # Ax calls pending what lacks any metric
        others = [history.decisions.ours(values) for values in pending_parameters]
        for decision in [*self._batch, *(each for each in others if each is not None and each not in known)]:
            trials.append(Trial(len(trials), decision))
        values = history.decisions.theirs(self._study(history, trials).ask().decision)
        self._batch += [decision for decision in [history.decisions.ours(values)] if decision is not None]
        return values

    def recommend(
        self,
        experiment: Experiment | None = None,
        *,
        objective: Objective | None = None,
        context: Row | None = None,
        forecast: ContextModel | None = None,
        radii: Sequence[float] | None = None,
    ) -> Recommendation:
        """The decision whose objective is best under all that was reported: not the luckiest arm.

        Args:
            experiment: by default that of the node's strategy.
            objective: another objective than the node's.
            context: the context, if it is known.
            forecast: a context distribution to recommend for.
            radii: where the robustness curve is wanted.
        """
        history = self._read(experiment)
        found = self._study(history, history.trials()).recommend(
            objective=objective, context=context, forecast=forecast, radii=radii
        )
        return replace(found, decision=history.decisions.theirs(found.decision))

    def as_study(self, experiment: Experiment | None = None) -> Study:
        """The same trials as a study of ours, for its table and its figures; steps are counted from 0 there.

        Args:
            experiment: by default that of the node's strategy.
        """
        history = self._read(experiment)
        return self._study(history, history.trials())

    def _read(self, experiment: Experiment | None) -> TrialHistory:
        chosen = self.experiment if experiment is None else experiment
        require(isinstance(chosen, Experiment), f"{WHERE}.recommend(experiment=...)", "be an Ax experiment", chosen)
        return TrialHistory.of(chosen, chosen.lookup_data(), self.space)

    def _study(self, history: TrialHistory, trials: list[Trial]) -> Study:
        study = self.options.study(history.space, history.direction, history.decisions.constraints)
        study.restore(trials)
        return study

    def _gen(  # type: ignore[override]
        self,
        experiment: Experiment,
        data: Data | None = None,
        n: int | None = None,
        pending_observations: dict[str, list[ObservationFeatures]] | None = None,
        **generator_gen_kwargs: Any,
    ) -> GeneratorRun:
        """Refuses what the base class ignores."""
        told = {
            key: value for key, value in generator_gen_kwargs.items() if key != "grs_this_gen" and value is not None
        }
        if told:
            raise InvalidInput(f"`{WHERE}` cannot heed {', '.join(told)}, got {told}: leave it out")
        return super()._gen(experiment, data, n, pending_observations)

    @classmethod
    def deserialize_init_args(
        cls, args: dict[str, Any], decoder_registry: Any = None, class_decoder_registry: Any = None
    ) -> dict[str, Any]:
        """The arguments that `_written` wrote down."""
        criteria = object_from_json(args["transition_criteria"], decoder_registry, class_decoder_registry)
        return {**decode_state(args["parts"]), "name": args["name"], "transition_criteria": criteria}


def _written(node: AllweatherNode) -> dict[str, Any]:
    """A node as Ax's encoders want it."""
    return {
        "__type": type(node).__name__,
        "name": node.name,
        "transition_criteria": list(node.transition_criteria),
        "parts": encode_state(node.space, node.options),
    }


# A client without a database takes no registries of its own.
CORE_ENCODER_REGISTRY[AllweatherNode] = _written
CORE_DECODER_REGISTRY[AllweatherNode.__name__] = AllweatherNode
