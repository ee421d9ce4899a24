"""Why a decision is recommended, in sentences that need no statistics."""

from __future__ import annotations

from typing import NamedTuple

from allweather.distances import TotalVariation
from allweather.engine.posterior_view import Outlook
from allweather.engine.recommendation import Recommendation
from allweather.objectives import Expectation, Objective
from allweather.plots.axes import measured, short, told, worded
from allweather.study import Study


class Fares(NamedTuple):
    """How a decision fares."""

    name: str
    decision: str
    expected: str
    """Its mean outcome if contexts are as believed."""
    shifted: str
    """Its mean outcome after the worst shift within the radius."""


class Reasons(NamedTuple):
    """A recommendation in words."""

    decision: dict[str, str]
    sentences: list[str]
    compared: list[Fares]
    """The recommended decision, and the one that would be chosen if contexts could be trusted."""


def reasons(study: Study, objective: Objective | None = None) -> Reasons:
    """Why a study recommends what it recommends.

    Args:
        study: with at least one complete trial.
        objective: recommended for, instead of the study's.

    Example:
        >>> from allweather import Context, Real, Space
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> _ = study.add([{"order": o / 4, "demand": d, "value": min(o / 4, d)} for o in range(5) for d in (0.2, 0.6)])
        >>> reasons(study).sentences[0]
        'This rests on 10 complete trials.'
    """
    outlook = study.outlook(objective=objective)
    best = outlook.recommendation()
    states = study.trials()["state"].value_counts()
    sentences = [f"This rests on {_counted(int(states.get('complete', 0)), 'complete trial')}."]
    waiting = int(states.get("pending", 0))
    if waiting:
        sentences.append(f"{_counted(waiting, 'trial')} more {'is' if waiting == 1 else 'are'} on the way.")
    sentences += [*_objective(outlook, best), *_shift(outlook, best)]
    compared = [_fares("recommended", outlook, outlook)]
    if outlook.reference.points.shape[1] and not outlook.control:
        plain = study.outlook(objective=Expectation())
        compared.append(_fares("without robustness", plain, outlook))
    if best.cost is not None:
        sentences.append(f"It decides {', '.join(best.control)}, at a cost of {short(float(best.cost))} each time.")
    return Reasons({name: short(value) for name, value in best.decision.items()}, sentences, compared)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _objective(outlook: Outlook, best: Recommendation) -> list[str]:
    wanted = worded(outlook.belief.objective)
    if best.value in (float("inf"), float("-inf")):
        return [f"What is wanted ({wanted}) is not reached by any decision."]
    low, high = (short(end) for end in best.interval)
    return [
        f"Wanted is the {wanted}. Of all decisions this has the best, {short(best.value)}, with 90% probability "
        f"between {low} and {high} if the model is right."
    ]


def _shift(outlook: Outlook, best: Recommendation) -> list[str]:
    if not outlook.reference.points.shape[1]:
        return [f"The outcome is expected to be {short(best.expected)}."]
    radius = float(outlook.distance.number)
    shifted = short(float(outlook.worst(best.decision, [radius]).value[0]))
    share = f", that is {50 * radius:.3g}% of all cases turning out otherwise" if _is_share(outlook) else ""
    return [
        f"If contexts are as believed, the mean outcome is {short(best.expected)}.",
        f"If their distribution shifts against it by {short(radius)} in {measured(outlook.distance)}{share}, "
        f"it {'is still' if outlook.sign > 0 else 'rises to'} {shifted}.",
    ]


def _is_share(outlook: Outlook) -> bool:
    """In total variation a radius is twice the share of cases that change."""
    return isinstance(outlook.distance, TotalVariation) and 0 < outlook.distance.number < 2


def _fares(name: str, chosen: Outlook, judge: Outlook) -> Fares:
    mean, shifted = judge.worst(chosen.decision, [0.0, judge.distance.number]).value.tolist()
    return Fares(name, told(chosen.decision), short(mean), short(shifted))
