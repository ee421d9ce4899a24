"""The fields of a spec from text, as a person enters them into a form or at a prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from allweather._utils.formatting import number
from allweather.errors import require
from allweather.space.proposal import Proposal, proposal_tables

OBJECTIVES: dict[str, Any] = {
    "mean": "expectation",
    "shift": {"name": "dro", "distance": {"name": "total-variation", "radius": 0.2}},
    "tail": {"name": "cvar", "level": 0.2},
    "worst": "worst-case",
}
"""Objectives that are offered, by a short name."""
KINDS = ("real", "log", "integer", "choice")
"""Types of variables: `log` is a real number on a logarithmic scale."""


def draft_spec(entered: Mapping[str, str], rows: int) -> dict[str, Any]:
    """Return the fields of a spec.

    Args:
        entered: text by field: `name`, `direction`, `objective` (one of `OBJECTIVES`), and for the variable in row i
            `i:name`, `i:role` (`decision` or `context`), `i:kind`, `i:lower`, `i:upper`, `i:options` (separated by
            commas, or by semicolons) and `i:unit`.
        rows: of variables, of which some may be empty.

    Example:
        >>> draft_spec({"name": "glue", "0:name": "hardener", "0:lower": "5", "0:upper": "20", "0:unit": "%"}, 1)
        {'name': 'glue', 'direction': 'maximize', 'seed': 0, 'variables': {'hardener': {'lower': 5, 'upper': 20,
        'unit': '%'}}}
    """
    text = {name: value.strip() for name, value in entered.items()}
    variables: dict[str, Any] = {}
    for place in range(rows):
        name = text.get(f"{place}:name", "")
        cells = {key: text.get(f"{place}:{key}", "") for key in ("role", "kind", "lower", "upper", "options", "unit")}
        filled = [cells[key] for key in ("lower", "upper", "options", "unit") if cells[key]]
        require(bool(name) or not filled, f"variable {place + 1}", "have a name", "none")
        if name:
            require(name not in variables, "variables", "have different names", name)
            variables[name] = _variable(name, cells)
    fields: dict[str, Any] = {"name": text.get("name", ""), "direction": text.get("direction") or "maximize", "seed": 0}
    chosen = text.get("objective") or "mean"
    require(chosen in OBJECTIVES, "objective", f"be one of {', '.join(OBJECTIVES)}", chosen)
    uncertain = any(table.get("context") for table in variables.values())
    objective = OBJECTIVES[chosen] if uncertain else None
    return {**fields, **({} if objective is None else {"objective": objective}), "variables": variables}


def proposed_toml(proposal: Proposal, name: str, direction: str = "maximize") -> str:
    """Return a spec for the space that is proposed for a table, as TOML with the reasons beside it.

    Args:
        proposal: of the table.
        name: of the study.
        direction: `maximize` or `minimize`.

    Example:
        >>> rows = [{"order": o, "demand (kg)": d, "profit": 1} for o, d in [(0.5, 3), (2.5, 8), (1.25, 5)]]
        >>> print(proposed_toml(Proposal.of(rows, ["demand"], "profit"), "days"))
        name = "days"
        direction = "maximize"  # larger values of profit are better
        seed = 0
        objective = "expectation"  # the mean outcome; also { name = "cvar", level = 0.2 }, "worst-case", ...
        <BLANKLINE>
        [variables]
        # numbers from 0.5 to 2.5
        order = { lower = 0.5, upper = 2.5 }
        # whole numbers from 3 to 8, with a margin
        demand = { type = "integer", lower = 2, upper = 9, unit = "kg", context = true }
        <BLANKLINE>
    """
    better = "larger" if direction == "maximize" else "smaller"
    outcome = " ".join(proposal.outcome.split())
    said = [
        f"name = {_toml(name)}",
        f"direction = {_toml(direction)}  # {better} values of {outcome} are better",
        "seed = 0",
    ]
    tables = proposal_tables(proposal)
    if any(table.get("context") for table in tables.values()):
        other = '{ name = "cvar", level = 0.2 }, "worst-case", ...'
        said.append(f'objective = "expectation"  # the mean outcome; also {other}')
    said += ["", "[variables]"]
    for each in proposal.columns:
        reason = " ".join(each.reason.split())
        if each.variable is None:
            said.append(f"# left out: {' '.join(each.header.split())}, {reason}")
        else:
            said += [f"# {reason}", f"{_key(each.name)} = {_toml(tables[each.name])}"]
    return "\n".join([*said, ""])


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _toml(value: Any) -> str:
    """A value of TOML on one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_toml(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _variable(name: str, cells: Mapping[str, str]) -> dict[str, Any]:
    kind, unit = cells["kind"] or "real", {"unit": cells["unit"]} if cells["unit"] else {}
    require(kind in KINDS, f"type of {name}", f"be one of {', '.join(KINDS)}", kind)
    table: dict[str, Any] = {} if kind == "real" else {"log": True} if kind == "log" else {"type": kind}
    if kind == "choice":
        options = [each.strip() for each in _split(cells["options"]) if each.strip()]
        require(len(options) > 1, f"options of {name}", "be at least two, separated by commas", cells["options"])
        table, unit = {"options": options}, {}
    else:
        table |= {end: _bound(cells[end], f"{end} bound of {name}", kind) for end in ("lower", "upper")}
    return {**table, **unit, **({"context": True} if cells["role"] == "context" else {})}


def _split(options: str) -> list[str]:
    return options.split(";" if ";" in options else ",")


def drafted(proposal: Proposal) -> dict[str, str]:
    """Return the fields of `draft_spec` for the space that is proposed for a table, as text.

    Args:
        proposal: of the table.

    Example:
        >>> days = [(0.5, "oak"), (2.5, "ash"), (1, "oak"), (2, "ash")]
        >>> rows = [{"order": order, "wood": wood, "profit": 1} for order, wood in days]
        >>> drafted(Proposal.of(rows, ["wood"], "profit"))
        {'0:name': 'order', '0:kind': 'real', '0:role': 'decision', '0:lower': '0.5', '0:upper': '2.5', '0:unit': '',
        '1:name': 'wood', '1:kind': 'choice', '1:role': 'context', '1:options': 'oak; ash'}
    """
    found: dict[str, str] = {}
    for place, (name, table) in enumerate(proposal_tables(proposal).items()):
        kind = "choice" if "options" in table else "log" if table.get("log") else table.get("type", "real")
        row = {"name": name, "kind": kind, "role": "context" if table.get("context") else "decision"}
        if kind == "choice":
            row["options"] = "; ".join(map(str, table["options"]))
        else:
            row |= {"lower": f"{table['lower']:.15g}", "upper": f"{table['upper']:.15g}", "unit": table.get("unit", "")}
        found |= {f"{place}:{key}": text for key, text in row.items()}
    return found


def _bound(text: str, where: str, kind: str) -> float:
    found = number(text.replace(",", "."), where)
    require(kind != "integer" or found.is_integer(), where, "be a whole number", text)
    return int(found) if found.is_integer() else found
