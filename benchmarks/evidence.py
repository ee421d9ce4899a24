"""The tables of docs/defaults.md, from the stored results of several campaigns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks import calibration, control_defaults, defaults, floor, league
from benchmarks.comparison import Results
from benchmarks.league_runs import stored_runs
from benchmarks.league_tables import Standings, cumulative
from benchmarks.paired import PROBLEMS, read

PAGE = Path(__file__).parents[1] / "docs" / "defaults.md"


def tables(
    regrets: Path = defaults.RESULTS,
    intervals: Path = calibration.RESULTS,
    floors: Path = floor.RESULTS,
    controlled: Path = control_defaults.RESULTS,
    longer: Path = league.FIRST.results,
) -> dict[str, str]:
    """The tables by the name of their place on the page.

    Args:
        regrets: stored results of `python -m benchmarks defaults`.
        intervals: stored results of `python -m benchmarks calibration`.
        floors: stored results of `python -m benchmarks floor`.
        controlled: stored results of `python -m benchmarks control_defaults`.
        longer: stored runs of `python -m benchmarks league`.
    """
    results, control = Results.of(read(regrets)), read(controlled)
    return {
        "control": markdown(control_defaults.by_candidate(control)),
        "control, chosen": markdown(control_defaults.by_candidate(control, range(100))),
        "control, by problem": markdown(control_defaults.by_problem(control, control_defaults.CHOSEN)),
        "regret": _regret(results),
        "longer": _longer(Standings.of(stored_runs(longer), False)),
        "floor": _floor(floor.with_floor(read(regrets), floors)),
        "verdicts": "\n".join(f"- {line}" for line in defaults.verdicts(results)),
        "coverage": _coverage(calibration.kept(intervals)),
    }


def filled(page: str, found: dict[str, str]) -> str:
    """The page with the tables in their places.

    Args:
        page: the text, with `<!-- NAME -->` before and `<!-- end -->` after every table.
        found: the tables by name.
    """
    for name, table in found.items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page = place.sub(lambda match, table=table: f"{match[1]}\n{table}\n\n{match[2]}", page)
    return page


def _regret(results: Results) -> str:
    rows = [["method", "pairs", "cumulative", "cumulative, shifted", "recommendation", "recommendation, shifted"]]
    for method in results.methods:
        cells = [
            results.ratio(method, defaults.REFERENCE, kind, measure)
            for kind in ("cumulative", "recommended")
            for measure in (0, 1)
        ]
        rows.append([method, str(cells[0].pairs), *map(str, cells)])
    return markdown(rows)


def _longer(standings: Standings) -> str:
    """Cumulative regret at 30, 60 and 195 trials, where the runs exist."""
    rows = cumulative(standings, defaults.REFERENCE, league.SHOWN)
    return markdown(rows) if len(rows) > 1 else "Not run yet."


def _floor(results: Results) -> str:
    """By problem, the recommendation of the default and of the floor."""
    methods = [defaults.RECOMMENDING, floor.NAME]
    rows = [["problem", *methods]]
    for problem in (*PROBLEMS, None):
        ratios = [str(results.ratio(each, defaults.REFERENCE, "recommended", 0, problem)) for each in methods]
        rows.append([problem or "all", *ratios])
    return markdown(rows)


def _coverage(found: dict[calibration.Case, list[calibration.Interval]]) -> str:
    table = calibration.printed(found)
    columns = [str(column.header) for column in table.columns]
    return markdown([columns, *(list(row) for row in zip(*(column.cells for column in table.columns), strict=True))])


def markdown(rows: Sequence[Sequence[str]], align: str = "---:") -> str:
    """A table in Markdown.

    Args:
        rows: of cells, the first one the head.
        align: of all columns but the first.
    """
    head, *body = rows
    lines = [head, ["---", *[align] * (len(head) - 1)], *body]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(filled(PAGE.read_text(), tables()))
    print(PAGE.name)
