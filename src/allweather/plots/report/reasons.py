"""The reasons for a recommendation, as short sentences."""

from __future__ import annotations

from typing import NamedTuple

from allweather.distances import TotalVariation
from allweather.engine.posterior_view import Outlook
from allweather.engine.recommendation import Recommendation
from allweather.objectives import Expectation, Objective
from allweather.plots.labels import distance_label, format_row, format_value, objective_label
from allweather.space.text import units_of
from allweather.study import Study


class Comparison(NamedTuple):
    """Mean outcomes of a decision, with and without a shift of the context distribution."""

    name: str
    decision: str
    expected: str
    """Mean outcome under the context model."""
    shifted: str
    """Mean outcome after the worst shift within the radius."""


class Reasons(NamedTuple):
    """The reasons for a recommendation."""

    decision: dict[str, str]
    sentences: list[str]
    compared: list[Comparison]
    """The recommended decision, and the one with the best mean outcome under the context model."""


def reasons(study: Study, objective: Objective | None = None) -> Reasons:
    """Return the reasons for the recommendation of a study.

    Args:
        study: with at least one complete trial.
        objective: used instead of the study's objective.

    Returns:
        The decision, the sentences and the comparison.

    Example:
        >>> from allweather import Context, Real, Space
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> _ = study.add([{"order": o / 4, "demand": d, "value": min(o / 4, d)} for o in range(5) for d in (0.2, 0.6)])
        >>> reasons(study).sentences[0]
        'The recommendation is based on 10 complete trials.'
    """
    outlook = study.outlook(objective=objective)
    best = outlook.recommendation()
    states = study.trials()["state"].value_counts()
    sentences = [f"The recommendation is based on {_counted(int(states.get('complete', 0)), 'complete trial')}."]
    pending = int(states.get("pending", 0))
    if pending:
        sentences.append(f"{_counted(pending, 'trial')} {'is' if pending == 1 else 'are'} pending.")
    sentences += [*_objective(outlook, best), *_shift(outlook, best)]
    compared = [_compare("recommended", outlook, outlook)]
    if outlook.reference.points.shape[1] and not outlook.control:
        plain = study.outlook(objective=Expectation())
        compared.append(_compare("without robustness", plain, outlook))
    if best.cost is not None:
        sentences.append(
            f"It controls {', '.join(best.control)}, at a cost of {format_value(float(best.cost))} per trial."
        )
    sentences += _left(best)
    units = units_of(outlook.space.variables)
    said = {name: f"{format_value(value)} {units.get(name, '')}".strip() for name, value in best.decision.items()}
    return Reasons(said, sentences, compared)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _objective(outlook: Outlook, best: Recommendation) -> list[str]:
    objective = objective_label(outlook.belief.objective)
    if best.value in (float("inf"), float("-inf")):
        return [f"The target of the objective ({objective}) is not reached by any decision."]
    low, high = (format_value(end) for end in best.interval)
    return [
        f"The objective is: {objective}. The recommended decision has the best value, {format_value(best.value)}; "
        f"its 90% credible interval is {low} to {high}, if the model is correct."
    ]


def _shift(outlook: Outlook, best: Recommendation) -> list[str]:
    if not outlook.reference.points.shape[1]:
        return [f"The expected outcome is {format_value(best.expected)}."]
    radius = float(outlook.distance.number)
    shifted = format_value(float(outlook.worst(best.decision, [radius]).value[0]))
    share = f" (up to {50 * radius:.3g}% of the probability moves to other contexts)" if _is_share(outlook) else ""
    return [
        f"Under the context model, the mean outcome is {format_value(best.expected)}.",
        f"After the worst shift of the context distribution by {format_value(radius)} in "
        f"{distance_label(outlook.distance)}{share}, the mean outcome is {shifted}.",
    ]


def _left(best: Recommendation) -> list[str]:
    """Return what is left to gain, and a warning where the recommendation should not be relied on."""
    said = []
    if best.possible_gain is not None and best.gain_known:
        most = format_value(best.possible_gain)
        more = (
            ""
            if best.expected_gain is None
            else f"; one more trial gains {format_value(best.expected_gain)} on average"
        )
        said.append(f"No decision has an objective that is better by more than {most}, with 95% probability{more}.")
    notes = {"Warning": best.warning, "Approximation": best.approximation}
    return [*said, *(f"{kind}: {note}." for kind, note in notes.items() if note)]


def _is_share(outlook: Outlook) -> bool:
    """Return whether the radius is twice a share of probability: it is in total variation."""
    return isinstance(outlook.distance, TotalVariation) and 0 < outlook.distance.number < 2


def _compare(name: str, chosen: Outlook, judge: Outlook) -> Comparison:
    mean, shifted = judge.worst(chosen.decision, [0.0, judge.distance.number]).value.tolist()
    return Comparison(name, format_row(chosen.decision, chosen.space), format_value(mean), format_value(shifted))
