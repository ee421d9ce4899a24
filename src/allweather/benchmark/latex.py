"""Tables of campaigns for papers, in LaTeX."""

from __future__ import annotations

import math
import re

import pandas as pd

from allweather.benchmark.summaries import summary

SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
SPECIAL |= {each: f"\\{each}" for each in "&%$#_{}"}
Row = tuple[float, float]
"""Mean and standard error."""


def latex(results: pd.DataFrame, column: str = "cumulative", step: int | None = None) -> str:
    r"""Return a table of mean and standard error over seeds: a row per method, a column per problem and measure.

    It needs `\usepackage{booktabs}`. The lowest mean of each column is bold, as are those within its standard error.

    Args:
        results: of a campaign without control sets.
        column: `cumulative`, `regret` or `simple`.
        step: where it is read; by default the last.

    Example:
        >>> rows = [("a", "mean", name, seed, 1, 2.0 + n, 0.1) for n, name in enumerate("xy") for seed in (0, 1)]
        >>> columns = ["problem", "measure", "method", "seed", "step", "cumulative", "seconds"]
        >>> print(latex(pd.DataFrame(rows, columns=columns)).splitlines()[4])
        x & $\mathbf{2.0 \pm 0.0}$ \\
    """
    table = summary(results, column, step)
    several = table["measure"].nunique() > 1
    heads: dict[str, dict[str, Row]] = {}
    for row in table.to_dict("records"):
        title = f"{row['problem']}, {row['measure']}" if several else str(row["problem"])
        heads.setdefault(title, {})[str(row["method"])] = float(row["mean"]), float(row["standard_error"])
    lines = [rf"\begin{{tabular}}{{l{'r' * len(heads)}}}", r"\toprule"]
    lines += [" & ".join(["method", *map(_escaped, heads)]) + r" \\", r"\midrule"]
    for method in dict.fromkeys(map(str, results["method"])):
        cells = [_cell(found[method], min(found.values())) if method in found else "--" for found in heads.values()]
        lines.append(" & ".join([_escaped(method), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _cell(row: Row, best: Row) -> str:
    """Return a mean and its standard error, bold if it is as good as the best."""
    mean, error = row
    digits = max(1 - math.floor(math.log10(error)), 0) if error > 0 else 1
    text = rf"{mean:.{digits}f} \pm {error:.{digits}f}" if math.isfinite(error) else f"{mean:.{digits}f}"
    within = mean <= best[0] + (best[1] if math.isfinite(best[1]) else 0.0)
    return rf"$\mathbf{{{text}}}$" if within else f"${text}$"


def _escaped(text: str) -> str:
    return re.sub("|".join(map(re.escape, SPECIAL)), lambda found: SPECIAL[found[0]], text)
