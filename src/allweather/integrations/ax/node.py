"""The generation node: Ax keeps the trials, and a study is built from them whenever Ax generates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ax.api.client import Client
from ax.core.arm import Arm
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

from allweather.acquisition import Acquisition, ContextRule
from allweather.contexts import ContextModel
from allweather.engine.recommendation import Recommendation
from allweather.errors import is_number, require
from allweather.integrations.ax.history import CONTEXT, TrialHistory
from allweather.integrations.ax.parameters import WHERE
from allweather.integrations.ax.saved import decode_state, encode_state
from allweather.integrations.options import Given, StudyOptions, check_given, only_contexts
from allweather.methods.composition import Composition
from allweather.objectives import Objective
from allweather.space import Space
from allweather.space.variables import Choice
from allweather.study import Study
from allweather.surrogates import Surrogate
from allweather.trials import Row, Trial
from allweather.trials.results import Result


class AllweatherNode(ExternalGenerationNode):
    """Generate trials of an Ax experiment whose outcomes depend on uncertain contexts.

    Each trial reports its context as metrics named like the contexts, beside its outcome; with `simulator=True` the
    node chooses the context (`chosen_context`), and only the outcome is reported. The node keeps no state: it reads the
    experiment, so it can be saved, loaded and resumed. Fixed and derived parameters, steps, logarithmic
    scales and linear parameter constraints are supported; settings that the node would ignore raise `InvalidInput`.

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
        simulator: bool | ContextRule | None = None,
        name: str = "allweather",
        transition_criteria: Sequence[TransitionCriterion] | None = None,
        outcomes: Given = None,
    ) -> None:
        """Create a node.

        Args:
            space: the contexts, such as `Space(demand=Context(0, 1))`; numbers only, as metrics are.
            method: a published method by name, or a composition; the parts below replace its own.
            context: the model of the contexts.
            objective: the uncertainty objective; of all objectives, where the experiment has several.
            acquisition: the acquisition function.
            surrogate: a `GP(...)`, or a function `(X, Y) -> BoTorch model`, which cannot be saved.
            initial: number of quasi-random decisions before the surrogate is used.
            seed: the same seed and the same results give the same decisions, also after loading from a file.
            simulator: whether contexts are chosen too, as in `Study`; their law must be given as `context`.
            name: of the node in its strategy.
            transition_criteria: when to move to another node, as in Ax.
            outcomes: how contexts count in metrics, by name: `{"purity": AtLeast(0.95, probability=0.9)}` for a
                constraint, `{"yield": Maximize(CVaR(0.1))}` for an objective. Constraints hold on average by default.

        Raises:
            InvalidInput: if an argument does not meet its requirement.
        """
        # Decisions may be repeated, since their contexts differ.
        super().__init__(name=name, should_deduplicate=False, transition_criteria=transition_criteria)
        self.space = only_contexts(space, WHERE)
        self.options = StudyOptions(WHERE, method, context, objective, acquisition, surrogate, initial, seed, simulator)
        for named, variable in space.contexts.items():
            choices = getattr(variable, "variable", variable)
            options = choices.options if isinstance(choices, Choice) else ()
            numeric = all(is_number(option) or isinstance(option, bool) for option in options)
            fits = numeric or self.options.chooses
            numbers = f"Choice({', '.join(map(str, range(len(options))))})"
            remedy = f"number the options, {numbers}, and report the number as metric {named!r}: no order is assumed"
            require(fits, f"{WHERE}(space=...)", "have numeric contexts, as metrics are", (named, choices), remedy)
        check_given(outcomes, WHERE)
        self.outcomes = None if outcomes is None else dict(outcomes)
        self._history: TrialHistory | None = None
        self._batch: list[tuple[Row, Row | None]] = []
        """Decisions since the experiment was read, with the contexts that were chosen; each is a new trial, even if it
        repeats an earlier decision."""
        self._chosen: dict[str, dict[str, Any]] = {}
        """Contexts that were chosen for the run in progress, by signature of the arm."""

    @classmethod
    def of(cls, client: Client) -> AllweatherNode:
        """Return the node of a client, also of one loaded from a file; of several the current one, else the first."""
        strategy: GenerationStrategy = client._generation_strategy
        nodes = [strategy._curr, *strategy.nodes_by_name.values()]
        found = [node for node in nodes if isinstance(node, cls)]
        require(bool(found), f"{WHERE}.of(client=...)", "have a strategy with an AllweatherNode", strategy.name)
        return found[0]

    def strategy(self) -> GenerationStrategy:
        """Return a strategy with this node only, for `client.set_generation_strategy`."""
        return GenerationStrategy(nodes=[self], name=self.name)

    def update_generator_state(self, experiment: Experiment, data: Data) -> None:
        """Read the experiment; nothing is fitted yet."""
        self._batch = []
        self._history = self._read_data(experiment, data)

    def get_next_candidate(self, pending_parameters: list[TParameterization]) -> TParameterization:
        """Return the next decision, given all trials and the decisions generated in the same batch."""
        history = self._history
        assert history is not None  # Ax calls update_generator_state first
        trials = history.trials()
        # Ax also calls trials pending that lack a metric.
        known = [trial.decision for trial in trials] + [decision for decision, _ in self._batch]
        others = [history.decisions.ours(values) for values in pending_parameters]
        waiting = [(each, None) for each in others if each is not None and each not in known]
        results = None if history.outcomes is None else {name: Result() for name in history.outcomes}
        for decision, context in [*self._batch, *waiting]:
            trials.append(Trial(len(trials), decision, context, results=results))
        asked = self._study(history, trials).ask()
        values, chosen = history.decisions.theirs(asked.decision), asked.context
        ours = history.decisions.ours(values)
        self._batch += [] if ours is None else [(ours, chosen)]
        if chosen is not None:  # Ax runs equal arms of one run once
            self._chosen.setdefault(Arm(parameters=values).signature, {CONTEXT: dict(chosen)})
        return values

    def chosen_context(self, trial: int, experiment: Experiment | None = None, arm: str | None = None) -> Row:
        """Return the context that a trial is to be run in, with `simulator=True`; it needs not be reported.

        Args:
            trial: index of the trial.
            experiment: by default that of the node's strategy.
            arm: its name, where the trial has several.
        """
        where = f"{WHERE}.chosen_context(trial=...)"
        chosen = self.experiment if experiment is None else experiment
        require(self.options.chooses, where, "be called with `simulator=True`", trial)
        known = [index for index, each in chosen.trials.items() if each.arms]
        require(trial in known, where, f"be one of the trials {known}", trial)
        names = [each.name for each in chosen.trials[trial].arms]
        name = names[0] if arm is None and len(names) == 1 else arm
        require(name in names, f"{WHERE}.chosen_context(arm=...)", f"be one of the arms {names}", arm)
        found = self._read(chosen, "chosen_context").chosen_context(trial, str(name))
        remedy = "report its context as metrics"
        require(found is not None, where, "be a trial that the node generated, with a context", trial, remedy)
        assert found is not None
        return found

    def recommend(
        self,
        experiment: Experiment | None = None,
        *,
        objective: Objective | None = None,
        context: Row | None = None,
        forecast: ContextModel | None = None,
        radii: Sequence[float] | None = None,
        weights: Mapping[str, float] | None = None,
        reference_point: Mapping[str, float] | None = None,
    ) -> Recommendation:
        """Return the decision with the best objective under the posterior, not the arm with the best outcome.

        With outcome constraints it is the best decision that is believed to keep them.

        Args:
            experiment: by default that of the node's strategy.
            objective: instead of that of the node.
            context: the context, if it is known.
            forecast: a context distribution to recommend for.
            radii: of the robustness curve.
            weights: of several objectives, by metric.
            reference_point: what several objectives shall exceed, by metric; without weights, the experiment's
                objective thresholds, where all objectives have one.
        """
        history = self._read(experiment, "recommend")
        point = history.point if weights is None and reference_point is None else reference_point
        found = self._study(history, history.trials()).recommend(
            objective=objective,
            context=context,
            forecast=forecast,
            radii=radii,
            weights=weights,
            reference_point=point,
        )
        return replace(found, decision=history.decisions.theirs(found.decision))

    def as_study(self, experiment: Experiment | None = None) -> Study:
        """Return the trials as a `Study`, for its table and figures; trials are numbered from 0 there.

        Args:
            experiment: by default that of the node's strategy.
        """
        history = self._read(experiment, "as_study")
        return self._study(history, history.trials())

    def _read(self, experiment: Experiment | None, caller: str) -> TrialHistory:
        chosen = self.experiment if experiment is None else experiment
        require(isinstance(chosen, Experiment), f"{WHERE}.{caller}(experiment=...)", "be an Ax experiment", chosen)
        return self._read_data(chosen, chosen.lookup_data())

    def _read_data(self, experiment: Experiment, data: Data) -> TrialHistory:
        return TrialHistory.from_experiment(experiment, data, self.space, self.outcomes, self.options.measure)

    def _study(self, history: TrialHistory, trials: list[Trial]) -> Study:
        limits = history.decisions.constraints
        study = self.options.study(history.space, history.direction, limits, history.outcomes)
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
        """Raise for arguments that the base class ignores."""
        given = {key: value for key, value in generator_gen_kwargs.items() if key != "grs_this_gen"}
        ignored = {key: value for key, value in given.items() if value is not None}
        require(not ignored, WHERE, f"not be given {', '.join(ignored)}, which it would ignore", ignored)
        self._chosen = {}
        run = super()._gen(experiment, data, n, pending_observations)
        if self._chosen:
            run._candidate_metadata_by_arm_signature = {
                arm.signature: self._chosen[arm.signature] for arm in run.arms if arm.signature in self._chosen
            }
        return run

    @classmethod
    def deserialize_init_args(
        cls, args: dict[str, Any], decoder_registry: Any = None, class_decoder_registry: Any = None
    ) -> dict[str, Any]:
        """Return the arguments of `__init__` from the data of `_encode`."""
        criteria = object_from_json(args["transition_criteria"], decoder_registry, class_decoder_registry)
        return {**decode_state(args["parts"]), "name": args["name"], "transition_criteria": criteria}


def _encode(node: AllweatherNode) -> dict[str, Any]:
    """Return a node as data for Ax's JSON storage."""
    return {
        "__type": type(node).__name__,
        "name": node.name,
        "transition_criteria": list(node.transition_criteria),
        "parts": encode_state(node.space, node.options, node.outcomes),
    }


# A client without a database cannot be given registries.
CORE_ENCODER_REGISTRY[AllweatherNode] = _encode
CORE_DECODER_REGISTRY[AllweatherNode.__name__] = AllweatherNode
