"""Ask, tell, recommend: the loop a person uses, and the only class that changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from torch import Tensor

from allweather.acquisition import Acquisition
from allweather.assembly import Assembly, composed, described, opened, require_space
from allweather.composition import Composition
from allweather.constraints import LinearConstraint
from allweather.contexts import ContextModel
from allweather.control import Control
from allweather.engine import Situation
from allweather.errors import require, require_count
from allweather.history import History
from allweather.objectives import Objective
from allweather.portable import recipe_of
from allweather.record import fields_of, retold
from allweather.space import Space
from allweather.splits import whole_box
from allweather.storage import Event, Storage
from allweather.surrogates import Surrogate
from allweather.telling import Teller, asked
from allweather.trials import Row, Trial, plain, rows_of
from allweather.views import Views

if TYPE_CHECKING:
    from botorch.models.model import Model

SIGNS = {"maximize": 1, "minimize": -1}


class Study(Views):
    """A search for the decision that is best under uncertain contexts.

    Example:
        >>> from allweather import Context, Real
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> for demand in (0.2, 0.3, 0.25, 0.4, 0.2, 0.3):
        ...     trial = study.ask()
        ...     order = trial.decision["order"]
        ...     _ = study.tell(trial, context={"demand": demand}, value=9 * min(order, demand) - 5 * order)
        >>> 0 < study.recommend().decision["order"] < 0.5
        True
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
        direction: Literal["maximize", "minimize"] = "maximize",
        constraints: LinearConstraint | Sequence[LinearConstraint] = (),
        candidates: Any = None,
        control: Control | None = None,
        initial: int | None = None,
        seed: int = 0,
        threads: int = 1,
        storage: str | Storage | None = None,
        name: str = "study",
    ) -> None:
        """A study of a space.

        Args:
            space: the variables; those wrapped in `Context` happen, the others are decided.
            method: a published method by name (`aw.methods()` lists them), or a composition; the parts below, where
                given, replace its own.
            context: what is believed about the contexts; by default learned from those seen.
            objective: what is wanted of a decision; by default a good mean also when the contexts shift a little.
            acquisition: how the next decision is chosen; by default UCB.
            surrogate: a `GP(...)` by default; or a function `(X, Y) -> BoTorch model`, or a BoTorch model class.
            direction: whether larger or smaller outcomes are better.
            constraints: linear inequalities that decisions must meet.
            candidates: the only decisions that may be chosen (a DataFrame or rows), if not all.
            control: sets of variables that can be decided at a cost, and a budget; what a set leaves out happens.
            initial: how many decisions are spread out before the surrogate is asked.
            seed: the same seed and the same answers give the same study.
            threads: of torch, while the study computes; one is fastest unless the machine is large and idle.
            storage: where the study is kept, such as `sqlite:///kiosk.db`; without it, it ends with the program.
            name: of the study there; one that exists is gone on with.
        """
        require_space(space)
        require(direction in SIGNS, "Study(direction=...)", f"be one of {list(SIGNS)}", direction)
        require_count(threads, "Study(threads=...)", low=1)
        self.space = space
        self.direction = direction
        self.name = name
        self._threads = threads
        sign = SIGNS[direction]
        composition = composed(method).with_parts(context, objective, acquisition, surrogate)
        limits = (constraints,) if isinstance(constraints, LinearConstraint) else tuple(constraints)
        chosen = None if candidates is None else space.decisions.encode(candidates)
        assembly = Assembly(space, sign, limits, chosen, initial, seed)
        self._engine = assembly.engine(composition, control)
        empty = History(space, sign, whole=None if control is None else whole_box(space))
        self.recipe = recipe_of(assembly, composition, control, candidates)
        self._notebook = opened(storage, name, empty, described(self), self.recipe)
        self._teller = Teller(space, control is not None)

    @overload
    def ask(self, n: None = None, *, context: Row | None = None, forecast: ContextModel | None = None) -> Trial: ...
    @overload
    def ask(self, n: int, *, context: Row | None = None, forecast: ContextModel | None = None) -> list[Trial]: ...

    def ask(
        self, n: int | None = None, *, context: Row | None = None, forecast: ContextModel | None = None
    ) -> Trial | list[Trial]:
        """The next decision to try, or the next `n`.

        Trials that were asked for and not told yet are taken into account: no two look for the same thing.

        Args:
            n: how many trials to return as a list; a single trial if not given.
            context: the context, if it is known before the decision.
            forecast: the context's distribution for this decision only, e.g. `Finite(...)` or `Known(...)`.
        """
        if n is not None:
            require_count(n, "Study.ask(n=...)", low=1)
        situation = Situation.of(self.space, context, forecast, "Study.ask", self._teller.controlled)
        told = None if context is None else plain(context)

        def choose(history: History) -> list[Event]:
            written = []
            for _ in range(n or 1):  # all of them are written down, or none if something goes wrong
                trial = asked(self._engine.decide(history, situation), history, told)
                history = history.asked(trial)
                written.append(Event("asked", fields_of(trial), trial.number))
            return written

        with self._computing():
            trials = self._notebook.decide(choose)
        return trials[0] if n is None else trials

    def tell(
        self,
        trial: Trial | int,
        value: float | Sequence[float] | None = None,
        *,
        context: Row | None = None,
        decision: Row | None = None,
        failed: bool = False,
    ) -> Trial:
        """What became of a trial; what is not known yet may be told later. Returns the trial as it is then.

        Args:
            trial: what `ask` returned, or its number.
            value: the outcome, or several where it was measured repeatedly.
            context: what happened.
            decision: what was really done, if it differs from the plan.
            failed: that there will be no outcome; the study avoids such decisions when it asks, and ignores them when
                it recommends.
        """
        return self._notebook.tell(trial, self._teller.told(value, context, decision, failed))

    def correct(
        self,
        trial: Trial | int,
        value: float | Sequence[float] | None = None,
        *,
        context: Row | None = None,
        decision: Row | None = None,
    ) -> Trial:
        """Put right what was told of a trial; what it was before stays in the journal.

        Example:
            >>> from allweather import Context, Real
            >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)))
            >>> trial = study.tell(study.ask(), 14.0, context={"demand": 0.3})
            >>> study.correct(trial, 1.4).values
            (1.4,)
        """
        return self._notebook.tell(trial, self._teller.corrected(value, context, decision))

    def withdraw(self, trial: Trial | int) -> Trial:
        """Take a trial out: it counts for nothing from now on, but stays in the journal."""
        return self._notebook.tell(trial, lambda known: Event("corrected", {"withdrawn": True}, known.number))

    def add(self, table: Any, left: Sequence[str] = ()) -> list[Trial]:
        """Data from before: a DataFrame, a CSV file, or rows, with a column per variable and `value`; all or none.

        Args:
            table: the data.
            left: with control sets: variables that were left alone then, from which their law can be learned.
        """
        rows = rows_of(table)
        choose = self._teller.added(rows, left)
        return self._notebook.decide(choose) if rows else []

    def restore(self, trials: Sequence[Trial]) -> None:
        """Go on from the trials of an earlier study like this one, as if it had not stopped.

        Each trial must have been told in one call, or not at all.
        """
        before = len(self._history.trials)
        require(before == 0, "Study.restore(...)", "come before any other trial", f"{before} trials")
        self._notebook.decide(lambda history: retold(trials))
