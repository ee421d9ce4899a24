"""Views of a study: its posterior, the trade-offs between its objectives, and how well its model predicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from allweather._utils.timing import threads as limit_threads
from allweather.engine.changes import ChangeableStudy
from allweather.engine.check import Check
from allweather.engine.front import front_of, hypervolume_of
from allweather.engine.outlook import Outlook
from allweather.engine.requests import check_predictions, view_posterior
from allweather.engine.situation import Situation
from allweather.objectives import Objective

if TYPE_CHECKING:
    import pandas as pd


class StudyViews(ChangeableStudy):
    """What can be seen of a study beside the recommendation."""

    _threads: int

    def outlook(
        self, *, objective: Objective | None = None, after: int | None = None, outcome: str | None = None
    ) -> Outlook:
        """Return the posterior in the user's units, from which recommendations and figures are made.

        Args:
            objective: another objective than the study's.
            after: the number of complete trials to look at, the first ones; all if not given.
            outcome: one of several outcomes; by default the first that is maximized or minimized.
        """
        history = self._history if after is None else self._history.until(after)
        with self._computing():
            view = view_posterior(self._setup_at(history).engine, history, Situation(), objective, "Study.outlook")
        return view if outcome is None else view.of_outcome(outcome)

    def front(self) -> pd.DataFrame:
        """Return trade-offs between several objectives: decisions of which none is better in all, with intervals."""
        history = self._history
        with self._computing():
            engine = self._setup_at(history).engine
            return front_of(view_posterior(engine, history, Situation(), None, "Study.front"))

    def hypervolume(self, reference_point: Mapping[str, float]) -> float:
        """Return the volume of objectives that the trade-offs of `front()` dominate, by their medians.

        Args:
            reference_point: the corner of that volume, a value for each objective by outcome.

        Example:
            >>> from allweather import Maximize, Minimize, Real, Space, Study
            >>> study = Study(Space(heat=Real(0, 1)), outcomes={"gain": Maximize(), "waste": Minimize()})
            >>> _ = study.add([{"heat": h / 4, "gain": h / 4, "waste": (h / 4) ** 2} for h in range(5)])
            >>> 0.5 < study.hypervolume({"gain": 0.0, "waste": 1.0}) < 0.7
            True
        """
        history = self._history
        with self._computing():
            engine = self._setup_at(history).engine
            view = view_posterior(engine, history, Situation(), None, "Study.hypervolume")
            return hypervolume_of(view, reference_point)

    def check(self, outcome: str | None = None) -> Check:
        """Return how well the model predicts each outcome from all others, with a verdict; needs a `GP` surrogate.

        Args:
            outcome: one of several outcomes; by default the first that is maximized or minimized.
        """
        history = self._history
        with self._computing():
            return check_predictions(self._setup_at(history).engine, history, outcome)

    @contextmanager
    def _computing(self) -> Iterator[None]:
        self._engine.watch.reset()
        with limit_threads(self._threads):
            yield
