"""`plot` and `report`: what a study knows, to look at and to send."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from allweather._utils.registry import unknown
from allweather.cli.app import app, speak
from allweather.cli.place import Place, studied

FIGURES = ("robustness", "contexts", "profile", "slices", "progress", "frontier")


@app.command()
@studied
def plot(
    place: Place,
    file: Annotated[
        Path | None, typer.Argument(help="ends in .png, .pdf, .svg or .html; if not given, named after the study")
    ] = None,
    figure: Annotated[str, typer.Option("--figure", help=f"one of {', '.join(FIGURES)}")] = "robustness",
) -> None:
    """Draw a figure of a study: by default, how the recommended decision fares when contexts shift.

    Example: allweather plot kiosk.png --figure progress
    """
    if figure not in FIGURES:
        raise unknown("plot --figure", figure, FIGURES)
    from allweather import plots

    study = place.study()
    picture = plots.STUDY_FIGURES[figure](study)
    target = picture.save(Path(f"{_file_name(study.name)}.png") if file is None else file)
    place.say({"file": str(target), "says": picture.says}, lambda: speak(f"{picture.says} The picture is {target}"))


@app.command()
@studied
def report(
    place: Place,
    name: Annotated[str | None, typer.Argument(metavar="STUDY", help="as --study")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="ends in .html; if not given, named after the study")
    ] = None,
    static: Annotated[bool, typer.Option("--static", help="still pictures and no script: a smaller file")] = False,
) -> None:
    """Write one file to send to a colleague: the decision, why, the figures, and what reproduces it.

    Example: allweather report kiosk -o report.html
    """
    from allweather.plots.report import write_report

    study = (place if name is None else replace(place, study_name=name)).study()
    target = write_report(study, output or Path(f"{_file_name(study.name)}.html"), static=static)
    place.say({"file": str(target)}, lambda: speak(f"The report is {target}"))


def _file_name(study: str) -> str:
    return re.sub(r"[^0-9A-Za-z_-]", "_", study)
