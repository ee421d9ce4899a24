"""Self-contained HTML reports of a study."""

from __future__ import annotations

import base64
import datetime
import importlib.metadata
import io
import platform
from pathlib import Path
from typing import Any, NamedTuple

from allweather._utils.formatting import tame
from allweather.errors import InvalidInput, require
from allweather.objectives import Objective
from allweather.plots import STUDY_FIGURES, Picture
from allweather.plots.labels import objective_label
from allweather.plots.report.reasons import reasons
from allweather.serialization import to_toml
from allweather.study import Study

PACKAGES = ("allweather", "torch", "gpytorch", "botorch", "numpy", "scipy", "pandas", "sqlalchemy")
ROWS = 200
"""The number of newest trials in the table; the attached CSV file has all."""


class EmbeddedFigure(NamedTuple):
    """A figure as HTML, with its title and caption."""

    title: str
    says: str
    body: str
    """The figure as HTML."""


def write_report(study: Study, path: str | Path, objective: Objective | None = None, static: bool = False) -> Path:
    """Write the report of a study to a file.

    Args:
        study: with at least one complete trial.
        path: the file to write, which must end in .html.
        objective: used instead of the study's objective.
        static: whether figures are static SVG images: a small file without scripts, instead of several megabytes.

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
    text = report_html(study, objective, static)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot be written: {error}", where=str(target)) from None
    return target


def report_html(study: Study, objective: Objective | None = None, static: bool = False) -> str:
    """Return the report of a study as HTML without external resources.

    Args:
        study: with at least one complete trial.
        objective: used instead of the study's objective.
        static: whether figures are static SVG images.

    Returns:
        The HTML document.
    """
    table = study.trials()
    why = reasons(study, objective)
    pictures = [picture for picture in (_draw(study, name, objective) for name in STUDY_FIGURES) if picture]
    return str(
        _template().render(
            study=study,
            why=why,
            objective=objective_label(study.outlook(objective=objective).belief.objective),
            figures=[_static_figure(picture) if static else _interactive_figure(picture) for picture in pictures],
            script=None if static else _plotly(),
            made=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            spec=None if study.spec.code else to_toml({"name": study.name, **study.spec.fields}),
            versions=_versions(),
            columns=["trial", *table.columns],
            rows=_rows(table.tail(ROWS).iloc[::-1]),
            total=len(table),
            csv=_data_url(table.map(tame).rename(columns=tame).to_csv(), "text/csv"),
            own=objective is None,
            journal=_data_url("".join(f"{line}\n" for line in study.export()), "application/jsonl"),
        )
    )


def _draw(study: Study, name: str, objective: Objective | None) -> Picture | None:
    """Return a figure; None where it does not apply to the study."""
    try:
        return STUDY_FIGURES[name](study, objective)
    except InvalidInput:
        return None


def _static_figure(picture: Picture) -> EmbeddedFigure:
    buffer = io.BytesIO()
    picture.matplotlib().savefig(buffer, format="svg")
    source = _data_url(buffer.getvalue(), "image/svg+xml")
    return EmbeddedFigure(picture.title, picture.says, f'<img src="{source}" alt="">')


def _interactive_figure(picture: Picture) -> EmbeddedFigure:
    figure = picture.plotly()
    body = figure.to_html(include_plotlyjs=False, full_html=False, config={**picture.toolbar, "responsive": True})
    return EmbeddedFigure(picture.title, picture.says, body)


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
        raise InvalidInput(
            "a report needs jinja2", remedy="install it with `pip install 'allweather[plots]'`"
        ) from None
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    strict = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    return strict.get_template("page.html")
