"""`plot` and `report`: figures of a study, and a page with all of them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from allweather._utils.registry import unknown
from allweather.cli.app import app, print_line
from allweather.cli.options import SharedOptions, with_study_options

FIGURES = (
    "robustness",
    "contexts",
    "profile",
    "slices",
    "progress",
    "control_sets",
    "feasibility",
    "limits",
    "front",
    "check",
)


@app.command()
@with_study_options
def plot(
    shared: SharedOptions,
    file: Annotated[Path | None, typer.Argument(help="ends in .png, .pdf, .svg or .html; default: STUDY.png")] = None,
    figure: Annotated[str, typer.Option("--figure", help=f"one of {', '.join(FIGURES)}")] = "robustness",
) -> None:
    """Draw a figure of a study; by default the robustness of the recommended decision to shifted contexts.

    Example: allweather plot kiosk.png --figure progress
    """
    if figure not in FIGURES:
        raise unknown("plot --figure", figure, FIGURES)
    from allweather import plots

    study = shared.study()
    picture = plots.STUDY_FIGURES[figure](study)
    target = picture.save(Path(f"{_file_name(study.name)}.png") if file is None else file)
    shared.print(
        {"file": str(target), "says": picture.says}, lambda: print_line(f"{picture.says} Figure written to {target}")
    )


@app.command()
@with_study_options
def report(
    shared: SharedOptions,
    name: Annotated[str | None, typer.Argument(metavar="STUDY", help="the study, like --study")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="ends in .html; default: STUDY.html")] = None,
    static: Annotated[bool, typer.Option("--static", help="static figures without JavaScript: a smaller file")] = False,
) -> None:
    """Write a self-contained HTML report: the recommended decision, the reasons, the figures and the spec.

    Example: allweather report kiosk -o report.html
    """
    from allweather.plots import write_report

    study = (shared if name is None else replace(shared, study_name=name)).study()
    file = output or Path(f"{_file_name(study.name)}.html")
    target = write_report(study, file, static=static, progress=not shared.as_json)
    shared.print({"file": str(target)}, lambda: print_line(f"Report written to {target}"))


def _file_name(study: str) -> str:
    return re.sub(r"[^0-9A-Za-z_-]", "_", study)
