"""`plot`: outcomes over trials, and what the recommended decision loses when contexts shift."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from allweather.cli.app import app, speak
from allweather.cli.place import Place, studied
from allweather.errors import InvalidInput
from allweather.recipes import Kept
from allweather.recommendation import Recommendation

BLUE, ORANGE = "#0072B2", "#D55E00"


@app.command()
@studied
def plot(
    place: Place,
    file: Annotated[Path | None, typer.Argument(help="the picture; if not given, called like the study, .png")] = None,
) -> None:
    """Draw the outcomes over the trials, and how the recommended decision fares when contexts shift.

    Example: allweather plot kiosk.png
    """
    kept = place.kept()
    best = place.study().recommend()
    target = Path(f"{re.sub(r'[^0-9A-Za-z_-]', '_', kept.journal.name)}.png") if file is None else file
    draw(kept, best, target)
    place.say({"file": str(target)}, lambda: speak(f"The picture is {target}"))


def draw(kept: Kept, best: Recommendation, target: Path) -> None:
    """Both panels in one picture."""
    try:
        import matplotlib.figure
    except ImportError:
        raise InvalidInput("`plot` needs matplotlib: pip install 'allweather[plots]'") from None
    drawing = matplotlib.figure.Figure(figsize=(10, 4), layout="constrained")
    axes: Any = drawing.subplots(1, 2)
    outcomes = [(trial.number, value) for trial in kept.history.complete for value in trial.values]
    axes[0].plot(*zip(*outcomes, strict=True), "o", color=BLUE)
    axes[0].set(title="outcomes", xlabel="trial", ylabel="value")
    axes[1].plot(best.curve["radius"], best.curve["value"], color=ORANGE)
    axes[1].set(
        title="recommended decision", xlabel=f"shift of contexts ({best.distance})", ylabel="worst mean outcome"
    )
    try:
        drawing.savefig(target, dpi=130)
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"`{target}` cannot be written: {problem}") from None
