"""The verdict of a soak: what was acknowledged against what is stored, and decisions against an undisturbed run."""

import math
from collections import Counter

from benchmarks.soak_notes import acknowledged

FLAT = 1.25
"""Growth of memory that passes: from the second quarter of the time, in which everything was in use, to the last."""


def space():
    """An order before a demand."""
    import allweather as aw

    return aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))


def nature(number):
    """The demand of a trial, whoever carries it out and whenever."""
    return 0.5 + 0.4 * math.sin(3.7 * number)


def profit(trial):
    """The outcome of a trial."""
    return 9 * min(trial.decision["order"], nature(trial.number)) - 5 * trial.decision["order"]


def shared_study(url, number, kind="shared"):
    """A study that all workers share; it stays in its initial design, so that asks compute little."""
    import allweather as aw

    return aw.Study(space(), initial=1000, context=aw.KDE(8), seed=7, storage=url, name=f"{kind}-{number}")


def page_study(url, number):
    """A study that visitors of the pages carry out."""
    return shared_study(url, number, "by-page")


def solo_study(url, number):
    """A study with a model, for one worker at a time."""
    import allweather as aw

    return aw.Study(space(), context=aw.KDE(16), seed=number, storage=url, name=f"solo-{number}")


def growth(memory):
    """How much more memory there was in the last quarter of the time than in the second."""
    quarter = len(memory) // 4
    return round(sum(memory[-quarter:]) / sum(memory[quarter : 2 * quarter]), 3) if quarter else 1.0


def verdict(found):
    """Whether a soak passed, and its numbers as text."""
    grown = max(found["page_memory_growth"], found["worker_memory_growth"])
    good = not (found["lost"] or found["doubled"] or found["differing"] or found["errors"]) and grown <= FLAT
    names = ("acknowledged", "lost", "doubled", "differing", "errors", "refused", "kills", "workers", "requests")
    text = ", ".join(f"{found[name]} {name}" for name in names).replace("differing", "differing decisions")
    return good, f"{'PASSED' if good else 'FAILED'}: {text}, memory growth {grown:.3f}"


def compare(url, folder):
    """Compare what was acknowledged with what is stored, and decisions with those of an undisturbed run."""
    from allweather.storage import Database, Journal, names
    from allweather.storage.backup import restore_lines
    from allweather.study import StudyLog

    database, rows_of = Database(url), acknowledged(folder)
    journals = {name: Journal.open(database, name) for name in names(database)}
    stored = {name: StudyLog.of(journal).history.trials for name, journal in journals.items()}
    lost = sum(_lost(rows, stored.get(name, ()), number) for (name, number), rows in rows_of.items())
    doubled = sum(len({row["by"] for row in rows if "asked" in row}) > 1 for rows in rows_of.values())
    doubled += sum(map(_repeated, journals.values()))
    solo = {name: trials for name, trials in stored.items() if name.startswith("solo-")}
    differing = sum(_differing(int(name.rpartition("-")[2]), trials) for name, trials in solo.items())
    restored = 0
    if (folder / "backup.jsonl").exists():
        again = Database(f"sqlite:///{folder}/restored.db")
        restored = len(restore_lines(again, (folder / "backup.jsonl").read_text().split("\n")))
    told = sum("trying" not in row for rows in rows_of.values() for row in rows)
    counts = {"acknowledged": told, "trials": sum(map(len, stored.values()))}
    wrong = {"lost": lost, "doubled": doubled, "differing": differing}
    return {**counts, **wrong, "compared": sum(map(len, solo.values())), "restored_studies": restored}


def _lost(rows, trials, number):
    """Whether something that was acknowledged about a trial is not what is stored."""
    if number >= len(trials):
        return True
    trial, last = trials[number], max((place for place, row in enumerate(rows) if "told" in row), default=None)
    decided = all(row["decision"] == trial.decision for row in rows if "asked" in row)
    if last is None:
        return not decided
    possible = {row["value"] for row in rows[last:] if "asked" not in row}  # a report without an answer may be stored
    return not (decided and trial.values[0] in possible and trial.context == {"demand": nature(number)})


def _repeated(journal):
    """How many trials were asked for or reported more than once, or have no place in the order of the journal."""
    events = journal.read()
    counts = Counter((event.kind, event.trial) for event in events if event.kind in ("asked", "told"))
    asked = [event.trial for event in events if event.kind == "asked"]
    return sum(count > 1 for count in counts.values()) + (asked != list(range(len(asked))))


def _differing(number, trials):
    """How many decisions of a study differ from those of an undisturbed run with the same reports."""
    calm, differing = solo_study(None, number), 0
    for trial in trials:
        own = calm.ask()
        differing += own.decision != trial.decision
        if trial.state != "complete":
            break
        calm.tell(own, trial.values[0], context=trial.context)
    return differing
