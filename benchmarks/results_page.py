"""`docs/results.md`, written wholly from the stored runs of `python -m benchmarks papers`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from allweather.benchmark.claims import check_claims, final_regrets
from allweather.benchmark.figures import Figure, Table, Wanted
from allweather.benchmark.papers import CATALOGUE
from allweather.benchmark.summaries import standard_error
from benchmarks import published_code, stored_runs
from benchmarks.evidence import filled, markdown
from benchmarks.stored_runs import Record

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
SIZES = {
    "bocu-fig2": (10, 1000),
    "bocu-fig3": (10, 1000),
    "kde-fig1": (5, 340),
    "kde-fig2": (5, 340),
    "kde-table1": (10, 90),
    "phi-fig1": (30, 50),
    "phi-fig3": (30, 60),
    "phi-fig4": (30, 50),
    "phi-fig5": (30, 60),
    "phi-fig7": (30, 50),
    "subsets-fig2": (10, 0),
    "subsets-fig3": (10, 0),
    "subsets-kg": (20, 0),
    "wasserstein-fig1": (15, 100),
    "wasserstein-fig2": (15, 100),
    "wasserstein-fig3": (15, 100),
    "wasserstein-fig4": (15, 100),
    "wasserstein-table1": (15, 100),
    "wasserstein-table2": (15, 100),
}
"""Seeds and iterations of the campaigns in the catalogue, which need the papers' data to be built; 0 for a budget."""


COMPUTED = {"kde-table2": "samples in (10, 100, 200, 300)", "phi-fig6": "step in (1, 2, 5, 10, 20, 50, 100)"}
"""Tables that take seconds, and the rows of them that are shown."""


def tables(folder: Path = stored_runs.FOLDER) -> dict[str, str]:
    """The generated parts of the page by the name of their place.

    Args:
        folder: of the stored runs.
    """
    found = stored_runs.read(folder)
    names = list(dict.fromkeys(record["figure"] for record in found))
    sections = {name: _section(name, _own(name, found)) for name in CATALOGUE if _own(name, found)}
    return {
        "campaigns": _campaigns(found, names),
        "figures": "\n\n".join(sections.values()),
        "computed": "\n\n".join(_computed(name, rows) for name, rows in COMPUTED.items()),
        "published code": _published(published_code.comparisons(found)),
        "missing": _missing(list(sections)),
    }


def _own(name: str, found: Sequence[Record]) -> list[Record]:
    """The stored runs of a figure; of runs that several figures share, those of its methods and problems."""
    figure = CATALOGUE[name]
    if not isinstance(figure, Figure):
        return []
    own = [each for each in found if each["figure"] == (figure.journals or name)]
    if not own or not figure.journals:
        return own
    pairs = {(problem, method) for each in figure.campaigns() for problem in each.problems for method in each.methods}
    return [each for each in own if (each["problem"], each["method"]) in pairs]


def _campaigns(found: Sequence[Record], names: Iterable[str]) -> str:
    rows = []
    for name in names:
        own = [each for each in found if each["figure"] == name]
        lengths = {stored_runs.length(each) for each in own}
        steps = f"{min(lengths)} to {max(lengths)}" if len(lengths) > 1 else f"{max(lengths)}"
        seeds = pd.DataFrame(own).groupby(["problem", "method"])["seed"].nunique()
        counts = f"{seeds.min()} to {seeds.max()}" if seeds.nunique() > 1 else f"{seeds.max()}"
        origins = [", ".join(sorted({each[key] for each in own})) for key in ("version", "commit", "date", "machine")]
        hours = sum(each["cpu_s"] for each in own) / 3600
        rows.append([f"`{name}`", _sizes(name), str(len(own)), counts, steps, f"{hours:.2f}", *origins])
    head = ["runs of", "size in the paper", "stored", "seeds", "iterations or trials", "CPU hours"]
    return markdown([[*head, "version", "commit", "date", "machine"], *rows])


def _sizes(name: str) -> str:
    """Seeds and iterations of the paper."""
    if name not in SIZES:
        return ""
    seeds, iterations = SIZES[name]
    return f"{seeds} seeds, {f'{iterations} iterations' if iterations else 'until the budget is spent'}"


def _section(name: str, found: Sequence[Record]) -> str:
    figure = CATALOGUE[name]
    assert isinstance(figure, Figure)
    results = stored_runs.table(found)
    parts = [f"### {name}: {figure.source}", f"Claim: {figure.claim} Command: `allweather reproduce {name}`."]
    parts.append(_regrets(results))
    findings = check_claims(results, figure.claims)
    if len(findings):
        parts.append(_findings(findings))
    return "\n\n".join(parts)


def _computed(name: str, rows: str) -> str:
    """A table of the catalogue that is computed as the page is written."""
    entry = CATALOGUE[name]
    assert isinstance(entry, Table)
    table, verdict = entry.build(Wanted())
    shown = [
        [f"{each:.4g}" if isinstance(each, float) else str(each) for each in row] for row in table.query(rows).values
    ]
    parts = [f"### {name}: {entry.source}", f"Claim: {entry.claim} Command: `allweather reproduce {name}`."]
    return "\n\n".join([*parts, markdown([list(table.columns), *shown]), f"{verdict[0].upper()}{verdict[1:]}."])


def _regrets(results: pd.DataFrame) -> str:
    """Settings by method, at the last step or cost that all runs of a setting have reached."""
    methods = list(dict.fromkeys(results["method"]))
    by_cost = "spent" in results
    keys = ["problem"] if by_cost else ["problem", "measure"]
    rows = []
    for key, block in results.groupby(keys, sort=False):
        present = [each for each in methods if each in set(block["method"])]
        final = final_regrets(block, present)
        if final is None or final.empty:
            continue
        reached = (block.groupby(["method", "seed"])["spent" if by_cost else "step"].max()).min()
        cells = [_cell(final[each]) if each in final else "" for each in methods]
        rows.append([", ".join(map(str, key)), f"{reached:g}", str(len(final)), *cells])
    head = ["setting", "cost" if by_cost else "iterations", "seeds"]
    return markdown([[*head, *methods], *rows])


def _cell(values: pd.Series) -> str:
    error = standard_error(values)
    mean = f"{values.mean():.4g}"
    return mean if pd.isna(error) else f"{mean} ± {error:.2g}"


def _findings(findings: pd.DataFrame) -> str:
    rows = [["claim", "setting", "quantity", "estimate and 95% interval", "verdict"]]
    for each in findings.itertuples(index=False):
        interval = "" if pd.isna(each.low) else f" ({each.low:.3g} to {each.high:.3g})"
        rows.append([each.claim, each.setting, each.quantity, f"{each.estimate:.3g}{interval}", each.verdict])
    return markdown(rows, "---")


def _published(found: Sequence[published_code.Comparison]) -> str:
    rows = [["code", "problem", "method", "at", "published", "ours", "difference", "two standard errors", "agrees"]]
    for each in found:
        shown = [
            _cell(pd.Series(side)) + f" ({len(side)})" if len(side) else "" for side in (each.published, each.ours)
        ]
        keys = [each.code, each.problem.replace("_", " "), each.method.replace("_", " "), f"{each.at:g}"]
        if len(each.ours) == 0:
            rows.append([*keys, *shown, "", "", "not run yet"])
            continue
        verdict = "yes" if each.agrees else f"no: {each.reason}"
        rows.append([*keys, *shown, f"{each.difference:.3g}", f"{2 * each.standard_error:.3g}", verdict])
    return markdown(rows)


def _missing(names: Sequence[str]) -> str:
    """Figures and tables without stored runs."""
    absent = [name for name, entry in CATALOGUE.items() if isinstance(entry, Figure) and name not in names]
    return "\n".join(f"- `allweather reproduce {name}` ({CATALOGUE[name].source}): {_sizes(name)}" for name in absent)


def main(arguments: Sequence[str] = ()) -> None:
    """Write the page; a folder of stored runs may be given."""
    folder = Path(arguments[0]) if arguments else stored_runs.FOLDER
    PAGE.write_text(filled(PAGE.read_text(), tables(folder)))
    print(PAGE.name)
