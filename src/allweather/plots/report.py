"""Reports: a study in one HTML file, with the recommendation, its reasons, figures, trials and journal."""

from __future__ import annotations

import base64
import datetime
import importlib.metadata
import io
import json
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from allweather._utils.formatting import tame
from allweather._utils.installation import install_command
from allweather.distances import TotalVariation
from allweather.engine.outlook import Outlook
from allweather.engine.recommendation import Recommendation
from allweather.errors import InvalidInput, require
from allweather.objectives import Expectation, Objective
from allweather.plots import STUDY_FIGURES, Picture
from allweather.plots.labels import distance_label, format_row, format_value, objective_label
from allweather.serialization import to_toml
from allweather.space.text import units_of
from allweather.study import Study
from allweather.trials.text import in_python, in_terminal, suspicion

__all__ = ["report_html", "write_report"]

PACKAGES = ("allweather", "torch", "gpytorch", "botorch", "numpy", "scipy", "pandas", "sqlalchemy")
MAX_ROWS = 200
"""The number of newest trials in the table; the attached CSV file has all."""
NARROW_PIXELS = 340
"""Pixels of figures on narrow screens, for which a report has a layout of its own."""


class EmbeddedFigure(NamedTuple):
    """A figure as HTML, with its title and caption."""

    title: str
    says: str
    body: str
    """The figure as HTML."""


def write_report(
    study: Study,
    path: str | Path,
    objective: Objective | None = None,
    static: bool = False,
    progress: bool = True,
) -> Path:
    """Write the report of a study to a file.

    Args:
        study: with at least one complete trial.
        path: the file to write, which must end in .html.
        objective: used instead of the study's objective.
        static: whether figures are static SVG images: a small file without scripts, instead of several megabytes.
        progress: whether to show on standard error which part is being made.

    Returns:
        The path of the file.

    Example:
        >>> import tempfile
        >>> from allweather import Context, Real, Space
        >>> study = Study(Space(order=Real(0, 1), demand=Context(0, 1)), seed=7)
        >>> _ = study.add([{"order": o / 4, "demand": d, "value": min(o / 4, d)} for o in range(5) for d in (0.2, 0.6)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_report(study, f"{folder}/report.html", static=True).name
        'report.html'
    """
    target = Path(path)
    require(target.suffix.lower() in (".html", ".htm"), "write_report(path=...)", "end in .html", str(path))
    text = report_html(study, objective, static, progress)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot be written: {error}", where=str(target)) from None
    return target


def report_html(study: Study, objective: Objective | None = None, static: bool = False, progress: bool = False) -> str:
    """Return the report of a study as HTML without external resources.

    Args:
        study: with at least one complete trial.
        objective: used instead of the study's objective.
        static: whether figures are static SVG images.
        progress: whether to show on standard error which part is being made.

    Returns:
        The HTML document.
    """
    table = study.trials()
    with _parts(progress) as begin:
        begin("reasons")
        why, wrong = reasons(study, objective), study.suspicious()
        pictures = _pictures(study, objective, begin)
    return str(
        _template().render(
            study=study,
            why=why,
            suspicious=[(suspicion(each), f"{in_terminal(each)} (in Python, {in_python(each)})") for each in wrong],
            objective=_wanted(study.outlook(objective=objective)),
            figures=[
                _static_figure(picture) if static else _interactive_figure(picture, number)
                for number, picture in enumerate(pictures)
            ],
            script=None if static else _plotly(),
            made=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            spec=None if study.spec.code else to_toml({"name": study.name, **study.spec.fields}),
            versions=_versions(),
            columns=["trial", *table.columns],
            rows=_rows(table.tail(MAX_ROWS).iloc[::-1]),
            total=len(table),
            csv=_data_url(table.map(tame).rename(columns=tame).to_csv(), "text/csv"),
            own=objective is None,
            journal=_data_url("".join(f"{line}\n" for line in study.export()), "application/jsonl"),
        )
    )


@contextmanager
def _parts(shown: bool) -> Iterator[Callable[[str], None]]:
    """Show on a terminal which part of a report is being made; gives what begins a part."""
    columns = (SpinnerColumn(), TextColumn("report: {task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not (shown and console.is_terminal), transient=True) as bar:
        task = bar.add_task("reasons", total=len(STUDY_FIGURES) + 1, completed=-1)
        yield lambda part: bar.update(task, advance=1, description=part, refresh=True)
        bar.update(task, completed=len(STUDY_FIGURES) + 1, description="written")


def _pictures(study: Study, objective: Objective | None, begin: Callable[[str], None]) -> list[Picture]:
    """Return the figures that apply to a study; the check of the model once for each outcome."""
    drawn = list[Picture]()
    for name, figure in STUDY_FIGURES.items():
        begin(name.replace("_", " "))
        names: Sequence[str] = study.spec.outcome_names if name == "check" else ()
        for options in [{"outcome": each} for each in names] or [{}]:
            with suppress(InvalidInput):  # it does not apply to this study
                drawn.append(figure(study, objective, **options))
    return drawn


def _wanted(outlook: Outlook) -> str:
    """Return what a study is about: its objective, or what is wanted of each outcome."""
    if not outlook.views:
        return objective_label(outlook.belief.objective)
    return "; ".join(outcome.describe(name) for name, outcome in outlook.wants.items())


def _static_figure(picture: Picture) -> EmbeddedFigure:
    buffer = io.BytesIO()
    picture.matplotlib().savefig(buffer, format="svg")
    source = _data_url(buffer.getvalue(), "image/svg+xml")
    return EmbeddedFigure(picture.title, picture.says, f'<img src="{source}" alt="">')


def _interactive_figure(picture: Picture, number: int) -> EmbeddedFigure:
    wide, narrow = (_script_json(picture.plotly(width).to_json()) for width in (None, NARROW_PIXELS))
    config = _script_json(json.dumps({**picture.toolbar, "responsive": True}))
    place = f"figure-{number}"
    fitting = f"window.innerWidth < 700 ? {narrow} : {wide}"
    draws = f'Plotly.newPlot("{place}", Object.assign({fitting}, {{config: {config}}}))'
    return EmbeddedFigure(picture.title, picture.says, f'<div id="{place}"></div><script>{draws}</script>')


def _script_json(text: str) -> str:
    """JSON that may stand in a script: nothing in it ends the script."""
    return text.replace("<", "\\u003c")


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def _data_url(content: str | bytes, kind: str) -> str:
    raw = content.encode() if isinstance(content, str) else content
    return f"data:{kind};base64,{base64.b64encode(raw).decode()}"


def _rows(table: Any) -> list[list[str]]:
    def cell(value: Any) -> str:
        missing = value is None or value != value
        return "" if missing else f"{value:.6g}" if isinstance(value, float) else str(value)

    return [[str(number), *(cell(value) for value in row)] for number, *row in table.itertuples(name=None)]


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    return found | {name: importlib.metadata.version(name) for name in PACKAGES}


def _template() -> Any:
    try:
        import jinja2
    except ImportError:
        raise InvalidInput("a report needs jinja2", remedy=f"install it with `{install_command('plots')}`") from None
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    strict = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    return strict.get_template("report.html")


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
    mean: str = "mean outcome"
    """What is compared."""


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
    sentences += [*(_outcomes(best) if outlook.views else _objective(outlook, best)), *_shift(outlook, best)]
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
    return Reasons(said, sentences, compared, f"mean of {outlook.wanted[0]}" if outlook.views else "mean outcome")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _outcomes(best: Recommendation) -> list[str]:
    """Return what is wanted of each outcome, and how far the recommended decision meets it."""
    return [f"{text[0].upper()}{text[1:]}." for text in best.outcome_texts]


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
    what = f"mean of {outlook.wanted[0]}" if outlook.views else "mean outcome"
    if not outlook.reference.points.shape[1]:
        return [f"The {what} is {format_value(best.expected)}."]
    radius = float(outlook.distance.number)
    shifted = format_value(float(outlook.worst(best.decision, [radius]).value[0]))
    share = f" (up to {50 * radius:.3g}% of the probability moves to other contexts)" if _is_share(outlook) else ""
    return [
        f"Under the context model, the {what} is {format_value(best.expected)}.",
        f"After the worst shift of the context distribution by {format_value(radius)} in "
        f"{distance_label(outlook.distance)}{share}, the {what} is {shifted}.",
    ]


def _left(best: Recommendation) -> list[str]:
    """Return what is left to gain, and a warning where the recommendation should not be relied on."""
    said = []
    if best.possible_gain is not None and best.gain_known:
        most = format_value(best.possible_gain)
        more = f"; one more trial gains {best.gain_text} on average" if best.gain_text else ""
        meaning = best.gain_meaning.capitalize()
        said.append(f"{meaning} than {most}, with 95% probability{more}.")
    return [*said, *(f"{kind}: {note}." for kind, note in best.notes.items())]


def _is_share(outlook: Outlook) -> bool:
    """Return whether the radius is twice a share of probability: it is in total variation."""
    return isinstance(outlook.distance, TotalVariation) and 0 < outlook.distance.number < 2


def _compare(name: str, chosen: Outlook, judge: Outlook) -> Comparison:
    mean, shifted = judge.worst(chosen.decision, [0.0, judge.distance.number]).value.tolist()
    return Comparison(name, format_row(chosen.decision, chosen.space), format_value(mean), format_value(shifted))
