"""The tables of docs/league.md, from the stored runs of both leagues."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.defaults import RECOMMENDING
from benchmarks.evidence import filled, markdown
from benchmarks.league import DEFAULT, FIRST, LEDRBO, REFERENCE, SECOND, SHOWN, shown_in
from benchmarks.league_runs import CHECKPOINTS, LAST, stored_runs
from benchmarks.league_tables import STORED, Ratio, Standings, published, share
from benchmarks.league_tables import cumulative as cumulative_rows
from benchmarks.league_tables import recommended as recommended_rows

PAGE = Path(__file__).parents[1] / "docs" / "league.md"
NOT_RUN = "Not run yet."
MOST_AT_195, UPPER_AT_195, MOST_AT_30 = 0.50, 0.65, 0.55
"""Targets: the default's cumulative regret as a multiple of LEDRBO's, and the upper end of its interval."""
MOST_STUCK, MOST_STUCK_ON_ONE = 0.02, 0.10
"""Targets: shares of runs that are stuck, of all and on one problem."""
MOST_OF_SECOND, MOST_RECOMMENDED = 0.50, 0.70
"""Targets on the second league, as multiples of sbo-kde's regret."""
COVERAGE, COVERAGE_OF_ONE = (0.82, 0.97), 0.70
"""Targets: the share of 90% intervals that hold the truth, of all and at least on every problem."""


def tables(first: Path = FIRST.results, second: Path = SECOND.results) -> dict[str, str]:
    """The tables by the name of their place on the page.

    Args:
        first: stored runs of `python -m benchmarks league`.
        second: stored runs of `python -m benchmarks league --second`.
    """
    papers, ours, rival = (
        Standings.of(stored_runs(first)),
        Standings.of(stored_runs(second), False),
        STORED.format(LEDRBO),
    )
    return {
        "first, published": _table(cumulative_rows(papers, rival, SHOWN)),
        "first, problems": _table(_by_problem(papers, rival)),
        "first, recommendations": _table(recommended_rows(papers, REFERENCE)),
        "optima": _table(_optima(papers)),
        "second": _table(cumulative_rows(ours, REFERENCE, shown_in(SECOND))),
        "second, problems": _table(_second_by_problem(ours)),
        "second, recommendations": _table(recommended_rows(ours, REFERENCE)),
        "verdicts": "\n".join(f"- {line}" for line in verdicts(papers, ours)) or NOT_RUN,
    }


def _table(rows: Sequence[Sequence[str]]) -> str:
    return markdown(rows) if len(rows) > 1 else NOT_RUN


def _by_problem(standings: Standings, rival: str) -> list[list[str]]:
    """By problem: the default against the rival, its regret per trial at the end, and how many runs are stuck."""
    rows = [["problem", *(f"{n} trials" for n in SHOWN), f"per trial, last {LAST}", "random decision", "stuck"]]
    for problem in standings.problems if DEFAULT in standings.methods else []:
        last = standings.last(DEFAULT, problem)
        stuck, total = standings.stuck(DEFAULT, problem)
        ratios = [standings.cumulative(DEFAULT, rival, n, problem).brief for n in SHOWN]
        end = f"{last:.2g}" if total else "-"
        rows.append([problem, *ratios, end, f"{standings.random(problem):.2g}", f"{stuck} of {total}"])
    return rows


def _optima(standings: Standings) -> list[list[str]]:
    """By problem: our optimum, the published one, and whether published regrets are corrected."""
    rows = [["problem", "optimum", "published", "published regrets"]]
    for problem, best in standings.optima.items():
        lacking = standings.corrected(problem)
        said = "as published" if lacking is None else f"{lacking:+.3f} a trial"
        rows.append([problem, f"{best:.4f}", f"{published()[problem]['optimum']:.4f}", said])
    return rows


def _second_by_problem(standings: Standings) -> list[list[str]]:
    """By problem: the default against sbo-kde, and how often its intervals hold."""
    columns = [f"cumulative at {n}" for n in shown_in(SECOND)] + [f"held at {n}" for n in CHECKPOINTS]
    rows = [["problem", *columns]]
    for problem in standings.problems if DEFAULT in standings.methods else []:
        ratios = [standings.cumulative(DEFAULT, REFERENCE, n, problem).brief for n in shown_in(SECOND)]
        rows.append([problem, *ratios, *(share(*standings.held(DEFAULT, n, problem)) for n in CHECKPOINTS)])
    return rows


def verdicts(first: Standings, second: Standings) -> list[str]:
    """What the targets say, one line each; none about what was not run.

    Args:
        first: of the papers' problems.
        second: of the problems of our own.
    """
    rival, lines = STORED.format(LEDRBO), list[str]()
    for trials, most, upper in ((30, MOST_AT_30, None), (195, MOST_AT_195, UPPER_AT_195)):
        found = first.cumulative(DEFAULT, rival, trials)
        if found.problems:
            met = found.value <= most and (upper is None or found.high < upper)
            target = f"target {most:.2f}" + ("" if upper is None else f" with an interval below {upper:.2f}")
            text = f"cumulative regret of the default at {trials} trials as a multiple of {rival}"
            lines.append(f"{text}: {found}, {target} {_met(met)}")
    if any(method == DEFAULT for method, _ in first.runs):
        lines += [_ahead(first), *_stuck(first)]
    final = RECOMMENDING if RECOMMENDING in second.methods else DEFAULT
    for name, found, most in (
        ("cumulative regret of the default", second.cumulative(DEFAULT, REFERENCE, 30), MOST_OF_SECOND),
        ("regret of the default's recommendation", second.recommended(final, REFERENCE, 30), MOST_RECOMMENDED),
    ):
        if found.problems:
            text = f"second league, {name} at 30 trials as a multiple of {REFERENCE}'s"
            lines.append(f"{text}: {found}, target {most:.2f} {_met(found.value <= most)}")
    return [*lines, *_coverage(second)]


def _ahead(standings: Standings) -> str:
    """Which published methods are ahead of the default on a problem by two standard errors."""
    found = [
        f"{method} on {problem} at {trials} trials {ratio.brief}"
        for trials in SHOWN
        for problem in standings.problems
        for method in standings.published
        if _is_ahead(ratio := standings.cumulative(method, DEFAULT, trials, problem))
    ]
    text = "published methods ahead of the default on a problem by more than two standard errors"
    return f"{text}: {'; '.join(found) or 'none'}"


def _is_ahead(ratio: Ratio) -> bool:
    return ratio.problems > 0 and bool(np.log(ratio.value) < -2 * ratio.error)


def _stuck(standings: Standings) -> list[str]:
    """The share of stuck runs, and the largest share on a problem."""
    count, total = standings.stuck(DEFAULT)
    if not total:
        return []
    by_problem = {problem: standings.stuck(DEFAULT, problem) for problem in standings.problems}
    worst = max(by_problem, key=lambda name: by_problem[name][0] / max(by_problem[name][1], 1))
    one, of = by_problem[worst]
    met = count / total < MOST_STUCK and one / of <= MOST_STUCK_ON_ONE
    targets = f"targets {MOST_STUCK:.0%} and {MOST_STUCK_ON_ONE:.0%}"
    return [f"stuck runs of the default: {count} of {total}, most on {worst}, {one} of {of}; {targets} {_met(met)}"]


def _coverage(standings: Standings) -> list[str]:
    """How often intervals hold, of all runs and on the problem where they hold least."""
    lines = []
    for trials in CHECKPOINTS:
        held, total = standings.held(DEFAULT, trials)
        if total:
            shares = {name: standings.held(DEFAULT, trials, name) for name in standings.problems}
            known = {name: one / of for name, (one, of) in shares.items() if of}
            worst = min(known, key=known.__getitem__)
            met = COVERAGE[0] <= held / total <= COVERAGE[1] and known[worst] >= COVERAGE_OF_ONE
            target = f"targets {COVERAGE[0]:.2f} to {COVERAGE[1]:.2f} and {COVERAGE_OF_ONE:.2f}"
            text = f"second league, 90% intervals that hold the truth after {trials} trials: {held / total:.2f}"
            lines.append(f"{text}, least on {worst}, {known[worst]:.2f}; {target} {_met(met)}")
    return lines


def _met(met: bool) -> str:
    return "met" if met else "not met"


def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(filled(PAGE.read_text(), tables()))
    print(PAGE.name)
