"""Reproduction of a figure or table of the papers by name, compared with its claim."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from allweather._utils.registry import unknown
from allweather.benchmark.campaign import Campaign
from allweather.benchmark.claims import Finding, describe_findings
from allweather.benchmark.figures import Figure, Table, Wanted
from allweather.benchmark.papers import CATALOGUE
from allweather.errors import MissingData, require, require_count
from allweather.problems import problem as build_problem


class Reproduction(NamedTuple):
    """The results, beside the claim of the paper."""

    name: str
    source: str
    """Paper and number of the figure or table."""
    claim: str
    """What the paper claims."""
    table: pd.DataFrame
    """Summary of the results."""
    verdict: str
    """How the results compare with the claim, in one line."""
    figure: Path | None
    """The file, where one was written."""
    results: pd.DataFrame
    """One row per step of every run."""
    findings: pd.DataFrame
    """The tests of the paper's claims, one row per claim and setting; see `allweather.benchmark.claims.Finding`."""
    sentences: tuple[str, ...] = ()
    """The parts of the verdict: one for each claim that is tested."""
    guesses: tuple[str, ...] = ()
    """Settings that the paper does not give and we chose."""
    left_out: Mapping[str, str] = MappingProxyType({})
    """Problems that were not run, since their data are missing, with the reason."""


def reproducible() -> list[str]:
    """Return the names of the figures and tables that can be reproduced.

    Example:
        >>> "kde-table2" in reproducible()
        True
    """
    return list(CATALOGUE)


def reproduce(
    name: str,
    seeds: int | None = None,
    iterations: int | None = None,
    quick: bool = False,
    problems: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    workers: int = 1,
    folder: Path | None = None,
) -> Reproduction:
    """Reproduce a figure or table of the papers; problems whose data are missing are left out.

    Args:
        name: see `reproducible`.
        seeds: number of seeds; by default as in the paper.
        iterations: of each run; by default as in the paper. With control sets, a limit.
        quick: one seed, three iterations unless given, the first problem whose data are there.
        problems: only these, by their label in the results or by the name of the problem.
        methods: only these, likewise.
        workers: processes.
        folder: for journals, tables and figures; the same folder resumes.

    Returns:
        The results, beside the claim of the paper.

    Raises:
        InvalidInput: if a name is unknown.
        MissingData: if the data of all chosen problems are missing.
    """
    if name not in CATALOGUE:
        raise unknown("reproduce(name=...)", name, reproducible())
    for number, where in ((seeds, "seeds"), (iterations, "iterations")):
        if number is not None:
            require_count(number, f"reproduce({where}=...)", low=1)
    chosen = CATALOGUE[name]
    if isinstance(chosen, Table):
        return _built(chosen, *chosen.build(Wanted(seeds, quick, problems, methods)), folder)
    kept = None if folder is None else folder / (chosen.journals or name)
    campaigns = select_campaigns(chosen, seeds, iterations, problems, methods, kept)
    campaigns, left_out = _with_data(campaigns, quick)
    if quick:
        campaigns = [_miniature(campaigns[0], iterations)]
    tables = [each.execute(workers, progress=not quick) for each in campaigns]
    results = pd.concat(tables, ignore_index=True)
    table, findings, drawn = chosen.summarise(results, None if folder is None else folder / name / f"{name}.png")
    if folder is not None:
        (folder / name).mkdir(parents=True, exist_ok=True)
        results.to_csv(folder / name / f"{name}.csv", index=False)
        findings.to_csv(folder / name / f"{name}-claims.csv", index=False)
    said = tuple(describe_findings(findings))
    common = (table, "; ".join(said), drawn, results, findings, said, chosen.guesses, left_out)
    return Reproduction(name, chosen.source, chosen.claim, *common)


def _built(chosen: Table, table: pd.DataFrame, found: str | Sequence[Finding], folder: Path | None) -> Reproduction:
    drawn = None
    findings = pd.DataFrame([] if isinstance(found, str) else list(found), columns=list(Finding._fields))
    said = (found,) if isinstance(found, str) else tuple(describe_findings(findings))
    if folder is not None:
        place = folder / chosen.name
        place.mkdir(parents=True, exist_ok=True)
        table.to_csv(place / f"{chosen.name}.csv", index=False)
        drawn = None if chosen.draw is None else chosen.draw(table, place / f"{chosen.name}.png")
    common = (table, "; ".join(said), drawn, table, findings, said, chosen.guesses)
    return Reproduction(chosen.name, chosen.source, chosen.claim, *common)


def select_campaigns(
    figure: Figure,
    seeds: int | None = None,
    iterations: int | None = None,
    problems: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    folder: Path | None = None,
) -> list[Campaign]:
    """Return the campaigns of a figure, restricted as by `reproduce`. No problem is built.

    Args:
        figure: of the catalogue.
        seeds: number of seeds; by default as in the paper.
        iterations: of each run; by default as in the paper.
        problems: only these.
        methods: only these.
        folder: of the folders of the campaigns, each the same whatever problems and methods are chosen.
    """
    campaigns = _only(_only(_placed(figure.campaigns(), folder), "problems", problems), "methods", methods)
    return [_sized(each, seeds, iterations) for each in campaigns]


def _with_data(campaigns: list[Campaign], first: bool) -> tuple[list[Campaign], dict[str, str]]:
    """Return the campaigns without the problems whose data are missing, and the reason for each of these.

    Args:
        campaigns: of a figure.
        first: whether the first problem is enough.

    Raises:
        MissingData: if no problem is left.
    """
    left_out: dict[str, MissingData] = {}
    there: set[str] = set()
    for label, (name, options) in {key: value for each in campaigns for key, value in each.settings.items()}.items():
        try:
            build_problem(name, **options)
            there.add(label)
        except MissingData as error:
            left_out[label] = error
        if first and there:
            break
    kept = [dataclasses.replace(each, problems=own) for each in campaigns if (own := each.only(there))]
    if not kept:
        raise next(iter(left_out.values()))
    return kept, {label: str(error) for label, error in left_out.items()}


def _placed(campaigns: list[Campaign], folder: Path | None) -> list[Campaign]:
    """Give each campaign a folder of its own, by its name or number among all."""
    if folder is None:
        return campaigns
    names = [each.name or f"{place:02d}" for place, each in enumerate(campaigns)]
    return [dataclasses.replace(each, folder=folder / name) for each, name in zip(campaigns, names, strict=True)]


def _only(campaigns: list[Campaign], what: str, wanted: Sequence[str] | None) -> list[Campaign]:
    """Restrict campaigns to some of their problems or methods."""
    if wanted is None:
        return campaigns
    kept = []
    for each in campaigns:
        known = getattr(each, what)
        own = {name: known[name][0] for name in known} if isinstance(known, dict) else {}
        names = [name for name in known if name in wanted or own.get(name) in wanted]
        if names:
            chosen = {name: known[name] for name in names} if isinstance(known, dict) else names
            changed: dict[str, Any] = {what: chosen}
            kept.append(dataclasses.replace(each, **changed))
    if not kept:
        known = sorted({name for each in campaigns for name in getattr(each, what)})
        require(False, f"reproduce({what}=...)", f"name some of {', '.join(known)}", list(wanted))
    return kept


def _sized(campaign: Campaign, seeds: int | None, iterations: int | None) -> Campaign:
    chosen = campaign.seeds if seeds is None else list(campaign.seeds)[:seeds]
    return dataclasses.replace(campaign, seeds=chosen, iterations=iterations or campaign.iterations)


def _miniature(campaign: Campaign, iterations: int | None) -> Campaign:
    """One seed, and three iterations unless given."""
    return dataclasses.replace(campaign, seeds=list(campaign.seeds)[:1], iterations=iterations or 3)
