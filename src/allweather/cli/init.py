"""`init`: create a study from a TOML file or interactively."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allweather.cli.app import app, print_line
from allweather.cli.files import read_file, read_lines, write_new_file
from allweather.cli.options import DEFAULT_STORAGE, SharedOptions, study_options, with_study_options
from allweather.cli.prompts import prompt_columns, prompt_spec
from allweather.errors import InvalidInput, require
from allweather.serialization.drafts import proposed_toml
from allweather.serialization.toml import MAX_FILE_CHARACTERS, to_toml
from allweather.space.proposal import CALL, Proposal
from allweather.space.text import describe
from allweather.space.variables import Context
from allweather.storage.memory import require_name

if TYPE_CHECKING:
    from allweather.study import Spec


@app.command()
@with_study_options
def init(
    shared: SharedOptions,
    file: Annotated[Path | None, typer.Argument(help="a TOML file; without one, its content is prompted for")] = None,
    table: Annotated[
        Path | None, typer.Option("--from", metavar="TABLE", help="a CSV or .xlsx file: propose a TOML file for it")
    ] = None,
    outcome: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="with --from: the column of the outcome")
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="with --from: a column that is not controlled (repeatable)"),
    ] = None,
    decimal: Annotated[str, typer.Option(metavar="MARK", help="with --from: the decimal mark of numbers, . or ,")] = "",
    minimize: Annotated[bool, typer.Option("--minimize", help="with --from: smaller outcomes are better")] = False,
) -> None:
    """Create a study from a TOML file, or from prompts that write the file too.

    With --from a TOML file is proposed for a table and written, with the reasons, for you to edit.

    Example: allweather init kiosk.toml
    """
    if table is not None:
        remedy = (
            f"give one of them, make {', '.join(outcome[1:] if outcome else [])} an outcome in the spec's [outcomes]"
        )
        require(len(outcome or []) < 2, "--outcome", "be given once: one outcome is proposed", outcome, remedy)
        _propose(shared, table, file, (outcome[0] if outcome else None, context, decimal), minimize)
        return
    alone = not (outcome or context or decimal or minimize)
    require(alone, "init", "be given --from with these options", outcome or context or decimal)
    from allweather.storage import Database, names
    from allweather.study import Spec, Study  # here, since parts need torch

    if file is None:
        require(interactive(), "init [FILE]", "name a TOML file where standard input is not a terminal", "no file name")
        spec, file = _prompted()
    else:
        spec = Spec.from_toml(read_file(file, MAX_FILE_CHARACTERS), file.name)
    name = shared.study_name or spec.name or file.stem
    url = shared.storage or spec.storage or DEFAULT_STORAGE
    require_name(name)
    Study.from_spec(spec)  # an invalid spec raises before anything is written
    database = Database(url)
    if name in names(database):
        raise InvalidInput(
            f"a study {name!r} is in {database.address} already", remedy="choose another name with --study"
        )
    Study.from_spec(spec, url, name)
    options = study_options(url, name if len(names(database)) > 1 else None)
    shared.print(
        {"study": name, "storage": database.address, "file": str(file)},
        lambda: print_line(f"Created study {name} in {database.address}. Next: allweather ask{options}"),
    )


def _propose(
    shared: SharedOptions,
    table: Path,
    file: Path | None,
    columns: tuple[str | None, list[str] | None, str],
    minimize: bool,
) -> None:
    """Write a spec that is proposed for a table: its outcome, its contexts and its decimal mark are in `columns`."""
    outcome, contexts, decimal = columns
    lines = read_lines(table)
    headers = [str(header) for header in lines[0].cells]
    if outcome is None and contexts is None and interactive() and not shared.as_json:
        outcome, contexts = prompt_columns(headers)
    try:
        proposal = Proposal.of(lines, contexts or [], outcome, decimal)
        _ = proposal.space
    except InvalidInput as error:
        option = {CALL.format("outcome"): "--outcome", CALL.format("contexts"): "--context"}
        option[CALL.format("decimal")] = "--decimal"
        raise error.at(option.get(error.where, table.name)) from None
    target = Path(f"{table.stem}.toml") if file is None else file
    write_new_file(target, proposed_toml(proposal, table.stem, "minimize" if minimize else "maximize"))
    options = "".join(f" --column {shlex.quote(f'{name}={header}')}" for name, header in proposal.renamed.items())
    options += f" --decimal {decimal}" if decimal else ""
    again = study_options(shared.storage, None)
    steps = [f"allweather init {shlex.quote(str(target))}{again}"]
    steps.append(f"allweather add {shlex.quote(str(table))}{options}{again}")
    reasons = [
        {"column": each.header, "name": each.name, "variable": each.variable and describe(each.variable)}
        | {"reason": each.reason}
        for each in proposal.columns
    ]
    document = {"file": str(target), "outcome": proposal.outcome, "columns": reasons, "next": steps}
    shared.print(document, lambda: _print_proposal(proposal, target, steps))


def _print_proposal(proposal: Proposal, file: Path, steps: list[str]) -> None:
    print_line(f"{proposal.rows} rows; the outcome is {proposal.outcome}")
    for each in proposal.columns:
        what = "left out" if each.variable is None else describe(each.variable)
        print_line(f"  {each.name}: {what} ({each.reason})")
    if not any(isinstance(each.variable, Context) for each in proposal.columns):
        print_line("No column is a context: name those that you do not control with --context")
    print_line(f"Proposed in {file}. Edit it as you like, then:")
    for step in steps:
        print_line(f"  {step}")


def interactive() -> bool:
    """Return whether standard input is a terminal."""
    return sys.stdin.isatty()


def _prompted() -> tuple[Spec, Path]:
    from allweather.study import Spec, Study

    fields = prompt_spec()
    text = to_toml(fields)
    file = Path(f"{fields['name']}.toml")
    spec = Spec.from_toml(text, file.name)
    Study.from_spec(spec)
    write_new_file(file, text)
    return spec, file
