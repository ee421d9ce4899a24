"""What a study shows without changing: recommendations, outlooks, tables, itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from allweather.clock import Stopwatch
from allweather.clock import threads as limited
from allweather.contexts import ContextModel
from allweather.controlled import ControlledEngine
from allweather.engine import Engine, Situation
from allweather.errors import InvalidInput, require
from allweather.history import History
from allweather.notebook import Notebook
from allweather.objectives import Objective
from allweather.outlook import Outlook
from allweather.recommendation import Recommendation, checked_radii
from allweather.space import Space
from allweather.storage import MemoryJournal, export_lines
from allweather.telling import Teller
from allweather.trials import Row

if TYPE_CHECKING:
    import pandas as pd


class Views:
    """The half of a study that only looks."""

    space: Space
    direction: str
    name: str
    _engine: Engine | ControlledEngine
    _notebook: Notebook
    _teller: Teller
    _threads: int

    def recommend(
        self,
        *,
        objective: Objective | None = None,
        context: Row | None = None,
        forecast: ContextModel | None = None,
        radii: Sequence[float] | None = None,
    ) -> Recommendation:
        """The decision whose objective is best under the posterior mean: not the luckiest trial.

        Args:
            objective: another objective than the study's.
            context: the context, if it is known.
            forecast: a context distribution to recommend for, instead of the context model's.
            radii: where the robustness curve is wanted.
        """
        situation = Situation.of(self.space, context, forecast, "Study.recommend", self._teller.controlled)
        chosen = None if radii is None else checked_radii(radii)
        with self._computing():
            return self._outlook(self._history, situation, objective, "Study.recommend").recommendation(chosen)

    def outlook(self, *, objective: Objective | None = None, after: int | None = None) -> Outlook:
        """What is believed, to look at it closely: recommendations and figures are made from it.

        Args:
            objective: another objective than the study's.
            after: as it was after the first so many complete trials.
        """
        history = self._history if after is None else self._history.until(after)
        with self._computing():
            return self._outlook(history, Situation(), objective, "Study.outlook")

    def _outlook(self, history: History, situation: Situation, objective: Objective | None, where: str) -> Outlook:
        if not len(history.observations):
            raise InvalidInput(f"`{where}()` needs at least one complete trial (context and value), got none")
        fits = objective is None or isinstance(objective, Objective)
        require(fits, f"{where}(objective=...)", "be an objective such as Expectation()", objective)
        return self._engine.outlook(history, situation, objective)

    def trials(self) -> pd.DataFrame:
        """One row per trial and one column per variable; `value` is the mean of its outcomes."""
        return self._history.table()

    def export(self) -> list[str]:
        """The whole study as lines of JSON, which `allweather import` reads."""
        return list(export_lines(cast(MemoryJournal, self._notebook.journal)))

    def __repr__(self) -> str:
        states = [trial.state for trial in self._history.trials]
        counts = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states))) or "no trials yet"
        return f"Study({self.space!r}, {self._engine!r}, {self.direction}, seed={self._engine.seed}: {counts})"

    @property
    def timings(self) -> dict[str, float]:
        """Seconds that the last `ask` or `recommend` spent on fit, reference, factorisation and maximisation."""
        return dict(self._engine.watch.seconds)

    @property
    def _history(self) -> History:
        return self._notebook.history

    @contextmanager
    def _computing(self) -> Iterator[None]:
        self._engine.watch = Stopwatch()
        with limited(self._threads):
            yield
