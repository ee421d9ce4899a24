"""Recommendations and figures, computed when somebody wants to see them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace

from starlette.requests import Request

from allweather.dashboard.choice import Choice, FigureChoice
from allweather.dashboard.outline import left_to_chance
from allweather.dashboard.problems import NotHere
from allweather.dashboard.shelf import Opened
from allweather.engine.recommendation import Recommendation
from allweather.plots import STUDY_FIGURES
from allweather.plots.axes import worded
from allweather.study import Study

UNROBUST = Choice(objective="expectation")
ABOUT = {
    "robustness": "How the mean outcome falls when contexts shift.",
    "contexts": "Which contexts are believed in, and which an adversary would choose.",
    "profile": "How the objective depends on each decision.",
    "slices": "What is known about the outcome, here and there.",
    "progress": "How the study has come along.",
    "frontier": "What more money buys.",
}
"""What each figure is about, until it is drawn and says it itself."""


@dataclass(frozen=True, eq=False)
class Advice:
    """What is recommended, what would be if nothing but the mean counted, and how long the answer took."""

    best: Recommendation
    plain: Recommendation
    wanted: str
    """The objective, in words."""
    complete: int
    """Trials it was learned from."""
    seconds: float


@dataclass(frozen=True)
class Drawing:
    """A figure, ready to be sent."""

    name: str
    title: str
    says: str
    plotly: str
    """JSON."""
    seconds: float

    def document(self) -> str:
        """The figure and what is said about it, as JSON."""
        said = json.dumps({"name": self.name, "title": self.title, "says": self.says})
        return f'{said[:-1]}, "figure": {self.plotly}}}'


async def advised(opened: Opened, choice: Choice, reader: Request) -> Advice:
    """The recommendation for an objective, beside the one for the mean."""

    def work(study: Study) -> Advice:
        started = time.perf_counter()
        outlook = study.outlook(objective=choice.part())
        wanted = worded(outlook.belief.objective) if choice.objective == "own" else choice.words()
        best = outlook.recommendation()
        plain = best if choice.key == UNROBUST.key else study.recommend(objective=UNROBUST.part())
        complete = len(opened.history.complete)
        return Advice(best, plain, wanted, complete, time.perf_counter() - started)

    return await opened.advised(work, reader, ("advice", choice.key))


async def drawn(opened: Opened, name: str, choice: FigureChoice, reader: Request) -> Drawing:
    """A figure of a study, by name."""
    if name not in STUDY_FIGURES:
        raise NotHere(f"there is no figure {name!r}; there are {', '.join(STUDY_FIGURES)}")

    def work(study: Study) -> Drawing:
        started = time.perf_counter()
        picture = replace(STUDY_FIGURES[name](study, objective=choice.part()), columns=choice.columns)
        return Drawing(name, picture.title, picture.says, picture.plotly().to_json(), time.perf_counter() - started)

    return await opened.drawn(work, reader, (name, choice.key, choice.columns))


def offered(opened: Opened) -> list[str]:
    """The figures that can be drawn of a study."""
    absent = set() if opened.kept.validator.controlled else {"frontier"}
    absent |= set() if left_to_chance(opened.kept) else {"robustness", "contexts"}
    return [name for name in STUDY_FIGURES if name not in absent]
