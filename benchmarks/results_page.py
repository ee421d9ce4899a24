"""`docs/results.md` and a page for each paper, written from the stored runs of `python -m benchmarks papers`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from allweather.benchmark.claims import check_claims, verdict_of
from allweather.benchmark.figures import Figure, Table, Wanted
from allweather.benchmark.papers import CATALOGUE
from allweather.benchmark.regret_figure import marked
from allweather.benchmark.summaries import standard_error
from benchmarks import published_code, stored_runs
from benchmarks.coverage import Coverage
from benchmarks.evidence import filled, markdown
from benchmarks.stored_runs import Record

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
PAPERS = ("bocu", "kde", "phi", "subsets", "wasserstein")
VERDICTS = ("holds", "fails", "undecided", "not tested")
COMPUTED = {
    "kde-table2": "samples in (10, 100, 200, 300)",
    "phi-fig6": "step in (1, 2, 5, 10, 20, 50, 100)",
    "wasserstein-fig1a": "regret >= 0",
}
"""Tables that take seconds, and the rows of them that are shown."""
FEW_SEEDS = 5
"""Verdicts of fewer are marked."""


def pages(folder: Path = stored_runs.FOLDER) -> dict[Path, str]:
    """The text of all pages.

    Args:
        folder: of the stored runs.
    """
    found = stored_runs.read(folder)
    entries = [Entry.of(name, found) for name, each in CATALOGUE.items() if isinstance(each, Figure)]
    parts = {"overview": _overview(entries), "origins": _origins(found), "missing": _missing(entries)}
    texts = {PAGE: filled(PAGE.read_text(), parts)}
    for paper in PAPERS:
        own = [entry for entry in entries if entry.paper == paper]
        texts[PAGE.parent / "results" / f"{paper}.md"] = _paper(paper, own)
    texts[PAGE.parent / "results" / "published_code.md"] = _published_code(found)
    return texts


class Entry:
    """A figure of the catalogue, with its stored runs."""

    def __init__(self, figure: Figure, records: Sequence[Record]) -> None:
        self.figure = figure
        self.records = records
        self.coverage = Coverage.of(figure, records)
        self.results = _cut(stored_runs.table(records), figure) if records else pd.DataFrame()
        self.findings = check_claims(self.results, figure.claims) if records else check_claims(pd.DataFrame(), ())

    @classmethod
    def of(cls, name: str, found: Sequence[Record]) -> Entry:
        """The entry with the runs of its problems and methods; figures of the same runs share them.

        Args:
            name: in the catalogue.
            found: all stored runs.
        """
        figure = CATALOGUE[name]
        assert isinstance(figure, Figure)
        own = [each for each in found if each["figure"] == (figure.journals or name)]
        runs = {
            (run.labels["problem"], run.labels["method"], run.seed)
            for campaign in figure.campaigns()
            for run in campaign.runs()
        }
        return cls(figure, [each for each in own if (each["problem"], each["method"], each["seed"]) in runs])

    @property
    def paper(self) -> str:
        """The paper's key."""
        return self.figure.name.split("-")[0]

    @property
    def hours(self) -> float:
        """CPU hours of the stored runs; a run with several measures counts once."""
        repeated = {
            (problem, method, measure.name): len(each.measures)
            for each in self.figure.campaigns()
            for problem in each.problems
            for method in each.methods
            for measure in each.measures
        }
        keys = (((each["problem"], each["method"], each.get("measure")), each["cpu_s"]) for each in self.records)
        return sum(seconds / repeated.get(key, 1) for key, seconds in keys) / 3600

    @property
    def statements(self) -> list[tuple[str, pd.DataFrame]]:
        """Each statement of the paper with the tests of it."""
        return _statements(self.findings)


def _statements(findings: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    keys = findings["sentence"].where(findings["sentence"] != "", findings["claim"])
    return [(str(said), block) for said, block in findings.groupby(keys, sort=False)]


def _cut(results: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    """Stored runs without the steps after the last of the figure, which may share longer runs with others."""
    longest = figure.campaigns()[0].iterations
    return results if longest is None or "step" not in results else results[results["step"] <= longest]


def _overview(entries: Sequence[Entry]) -> str:
    panels = "panels with half of the paper's seeds and iterations"
    head = ["figure", "reproduced", panels, "seeds", "iterations", "CPU hours"]
    rows = [[*head, *VERDICTS]]
    for entry in entries:
        said = [verdict_of(block) for _, block in entry.statements]
        counts = [str(said.count(verdict)) if said else "" for verdict in VERDICTS]
        name, covered = entry.figure.name, entry.coverage
        link = f"[{name}](results/{entry.paper}.md#{name})"
        size = [covered.seeds, covered.iterations, f"{entry.hours:.2f}" if entry.records else ""]
        done = "yes" if covered.whole else "no"
        rows.append([link, done, f"{covered.reproduced} of {len(covered.panels)}", *size, *counts])
    return markdown(rows)


def _origins(found: Sequence[Record]) -> str:
    rows = [["runs of", "stored lines", "version", "commit", "date", "machine"]]
    for name in dict.fromkeys(record["figure"] for record in found):
        own = [each for each in found if each["figure"] == name]
        origins = [", ".join(sorted({each[key] for each in own})) for key in ("version", "commit", "date", "machine")]
        rows.append([f"`{name}`", str(len(own)), *origins])
    return markdown(rows)


def _missing(entries: Sequence[Entry]) -> str:
    lines = []
    for entry in entries:
        lacking = entry.coverage.lacking()
        if lacking:
            lines += [f"- `{entry.figure.name}`", *(f"  - {line}" for line in lacking)]
    return "\n".join(lines)


def _paper(paper: str, entries: Sequence[Entry]) -> str:
    """The page of a paper: verdicts, the numbers of each figure, and all tests."""
    computed = [name for name in COMPUTED if name.startswith(f"{paper}-")]
    names = [entry.figure.name for entry in entries] + computed
    shown = [entry for entry in entries if entry.records]
    parts = [
        f"# Results: {paper}",
        "Written by `python -m benchmarks results`. [All results](../results.md) explains verdicts, intervals and "
        f"numbers; the paper is [{paper}](../references.md#{paper}).",
        "\n".join(f"- [{name}](#{name}): {CATALOGUE[name].source}" for name in names),
        "## Verdicts",
        _verdicts(shown),
        *(_section(entry) for entry in entries),
        *(_computed(name) for name in computed),
    ]
    tests = [f"### Tests of {entry.figure.name}\n\n{_tests(entry)}" for entry in shown if len(entry.findings)]
    if tests:
        parts += ["## Tests", *tests]
    return "\n\n".join(part for part in parts if part) + "\n"


def _verdicts(entries: Iterable[Entry]) -> str:
    rows = [["figure", "statement of the paper, in our words", "verdict", "tests", "seeds"]]
    for entry in entries:
        for said, block in entry.statements:
            counts = block["verdict"].value_counts()
            tests = ", ".join(f"{counts[each]} {each}" for each in VERDICTS[:3] if each in counts)
            if not tests:
                tests = str(block["claim"].iloc[0]).removeprefix("not tested: ")
            link = f"[{entry.figure.name}](#{entry.figure.name})"
            rows.append([link, said, verdict_of(block), tests, _seeds(block)])
    return markdown(rows, "---") if len(rows) > 1 else "No runs are stored."


def _seeds(findings: pd.DataFrame) -> str:
    """The fewest and most seeds of some tests, marked where they are few; those without seeds are exact."""
    low, high = findings["seeds"].min(), findings["seeds"].max()
    if high == 0:
        return "" if (findings["verdict"] == "not tested").all() else "exact"
    return (f"{low}" if low == high else f"{low} to {high}") + (" (few)" if low < FEW_SEEDS else "")


def _section(entry: Entry) -> str:
    figure, covered = entry.figure, entry.coverage
    parts = [f"## {figure.name}", f"{figure.source}. Command: `allweather reproduce {figure.name}`."]
    parts += _guesses(figure)
    if not entry.records:
        return "\n\n".join([*parts, f"No runs are stored; the paper has {covered.size}."])
    size = f"{covered.reproduced} of {len(covered.panels)} panels have at least half of {covered.size}."
    parts.append(f"Stored: {size} CPU hours: {entry.hours:.2f}.")
    return "\n\n".join([*parts, _numbers(figure, figure.summarise(entry.results, None).table)])


def _guesses(entry: Figure | Table) -> list[str]:
    return [f"Not in the paper, chosen here: {'; '.join(entry.guesses)}."] if entry.guesses else []


def _numbers(figure: Figure, table: pd.DataFrame) -> str:
    """The table of the command, with a column for each method where it has regrets."""
    table = table.assign(method=[marked(str(each), figure.ours) for each in table["method"]])
    if "published" in table:
        return f"CPU seconds of a run:\n\n{_plain(table)}"
    keys = [key for key in ("problem", "measure") if key in table]
    rows = []
    methods = list(dict.fromkeys(table["method"]))
    for key, block in table.groupby(keys, sort=False):
        cells = {row.method: _interval(row.mean, row.standard_error) for row in block.itertuples(index=False)}
        low, high = block["seeds"].min(), block["seeds"].max()
        seeds = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        reached = [f"{block['step'].max():g}"] if "step" in block else []
        rows.append([", ".join(map(str, key)), *reached, seeds, *(cells.get(each, "") for each in methods)])
    shown = markdown([["setting", *(["iterations"] if "step" in table else []), "seeds", *methods], *rows])
    return f"Instantaneous regret:\n\n{shown}" if figure.column == "regret" else shown


def _interval(mean: float, error: float) -> str:
    return f"{mean:.4g}" if pd.isna(error) else f"{mean:.4g} ± {error:.2g}"


def _plain(table: pd.DataFrame) -> str:
    rows = [[_shown(each) for each in row] for row in table.to_numpy(dtype=object)]
    return markdown([[name.replace("_", " ") for name in table.columns], *rows])


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.4g}"
    return str(value)


def _tests(entry: Entry) -> str:
    rows = [["test", "setting", "estimate and interval", "seeds", "verdict"]]
    for each in entry.findings[entry.findings["verdict"] != "not tested"].itertuples(index=False):
        interval = "" if pd.isna(each.low) else f" ({each.low:.3g} to {each.high:.3g})"
        estimate = f"{each.quantity} {each.estimate:.3g}{interval}"
        rows.append([each.claim, each.setting, estimate, str(each.seeds), each.verdict])
    return markdown(rows, "---")


def _computed(name: str) -> str:
    """A table of the catalogue that is computed as the page is written."""
    entry = CATALOGUE[name]
    assert isinstance(entry, Table)
    table, found = entry.build(Wanted())
    parts = [f"## {name}", f"{entry.source}. {entry.claim} Command: `allweather reproduce {name}`."]
    parts += [*_guesses(entry), _plain(table.query(COMPUTED[name]))]
    if isinstance(found, str):
        return "\n\n".join([*parts, f"{found[0].upper()}{found[1:]}."])
    rows = [["statement", "verdict", "tests", "seeds"]]
    for said, block in _statements(pd.DataFrame(found)):
        tests = "; ".join(f"{each.setting}: {each.estimate:.3g}, {each.verdict}" for each in block.itertuples())
        rows.append([said, verdict_of(block), tests, _seeds(block)])
    return "\n\n".join([*parts, markdown(rows, "---")])


def _published_code(found: Sequence[Record]) -> str:
    return (
        "\n\n".join(["# Results: the published code", PUBLISHED_CODE, _published(published_code.comparisons(found))])
        + "\n"
    )


PUBLISHED_CODE = """\
Regrets of the papers' published code in our runs of it (`benchmarks/results/published_code.json`), beside ours under
the same settings, with the number of seeds in parentheses. Two results agree if their difference is at most two of its
standard errors, from the errors of both sides; with fewer than five seeds on one side the two sides are assumed to have
the same variance. Random numbers differ, so seeds are not paired. "At" is the number of iterations after the initial
trials; for bocvs it is the cost spent, and regret is simple regret. Written by `python -m benchmarks results`."""


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


def _cell(values: pd.Series) -> str:
    error = standard_error(values)
    mean = f"{values.mean():.4g}"
    return mean if pd.isna(error) else f"{mean} ± {error:.2g}"


def main(arguments: Sequence[str] = ()) -> None:
    """Write the pages; a folder of stored runs may be given."""
    folder = Path(arguments[0]) if arguments else stored_runs.FOLDER
    texts: Mapping[Path, str] = pages(folder)
    for path, text in texts.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    print(", ".join(path.name for path in texts))
