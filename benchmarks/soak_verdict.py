"""The verdict of a soak: what was acknowledged against what is stored, and decisions against an undisturbed run."""

import math
from collections import Counter

from benchmarks.soak_notes import acknowledged

FLAT, LOCKED = 1.25, 300.0
"""Growth of memory that passes: from the second quarter of the time, in which everything was in use, to the last; and
seconds without an acknowledgement after a kill, beyond which a lock is taken to have survived it."""
SLOW_SECONDS = 2.0
"""Seconds after which trials are given up in a study whose worker is slower than that."""
WRONG = ("lost", "doubled", "differing", "errors", "failed_alive", "attacks_failed", "cut_lost", "cut_unnoticed")
WRONG += ("upgrade_lost", "upgrade_half_made", "upgrade_unnoticed", "damages_wrong", "changes_unnoticed", "backup_lost")
"""What must be zero."""


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


def slow_study(url):
    """A study whose trials are given up sooner than they are told."""
    from allweather.storage import Storage

    return shared_study(Storage(url, expire=SLOW_SECONDS), 0, "slow")


def growth(memory):
    """How much more memory there was in the last quarter of the time than in the second."""
    quarter = len(memory) // 4
    return round(sum(memory[-quarter:]) / sum(memory[quarter : 2 * quarter]), 3) if quarter else 1.0


def verdict(found):
    """Whether a soak passed, and its numbers as text; failures that are known elsewhere have a line each."""
    grown = max(found["page_memory_growth"], found["worker_memory_growth"])
    good = not any(found.get(name, 0) for name in WRONG) and grown <= FLAT
    good = good and found["longest_wait_after_a_kill"] <= LOCKED and found["attacks"] > 0
    names = ("acknowledged", "lost", "doubled", "differing", "errors", "refused", "kills", "suspended", "workers")
    text = ", ".join(f"{found[name]} {name}" for name in (*names, "requests"))
    text = text.replace("differing", "differing decisions")
    some, locked = Counter(found), found["longest_wait_after_a_kill"]
    lines = (
        f"a lock survives a kill (Optuna #5921): {_answer(locked > LOCKED)}; after each of {found['kills']} kills "
        f"something was acknowledged within {locked:.0f} s",
        f"live trials are failed (Optuna #4234, #5470): {_answer(found['failed_alive'])}; {found['told_late']} trials "
        f"were told after they had been given up, and are complete; {found['failed_alive']} are failed",
        f"a migration corrupts (Optuna #2216): {_answer(some['upgrade_lost'] + some['upgrade_half_made'])}; "
        f"{some['upgrades']} upgrades under writers, {some['upgrades_killed']} more killed; "
        f"{some['upgrade_half_made']} half made, {some['upgrade_lost']} events lost or changed",
        f"{some['logs_cut']} logs deleted under writers: {some['cut_lost']} of {some['cut_acknowledged']} "
        f"acknowledgements lost, {some['cut_unnoticed']} writers went on",
        f"{some['damages']} files damaged: {some['damages_wrong']} of {some['damages_read']} events read wrong",
        f"{some['changes']} digits changed in studies: {some['changes_unnoticed']} not noticed",
        f"{some['backups']} backups while all write: {some['backup_lost']} acknowledgements lost",
    )
    head = f"{'PASSED' if good else 'FAILED'}: {text}, memory growth {grown:.3f}"
    return good, "\n  ".join([head, *lines])


def together(names, failed, found):
    """One line for all databases."""
    sums = Counter()
    for each in found:
        sums.update({name: each.get(name, 0) for name in ("acknowledged", "kills", "suspended", "attacks", *WRONG)})
    said = f"FAILED on {', '.join(failed)}" if failed else "PASSED"
    wrong = sum(sums[name] for name in WRONG if name != "lost")
    done = f"{sums['kills']} kills, {sums['suspended']} suspensions, {sums['attacks']} attacks on the storage"
    return (
        f"{' and '.join(names)}: {said}: {done}; of {sums['acknowledged']} acknowledgements {sums['lost']} are lost; "
        f"{wrong} things went wrong"
    )


def _answer(happens):
    return "yes" if happens else "no"


def waits(folder, kills, until):
    """The longest time from a kill to the next report that is acknowledged about the same kind of study, in seconds."""
    told = {kind: [] for kind in ("worker", "alone", "slow")}
    for rows in acknowledged(folder).values():
        for row in rows:
            kind = row["by"].removesuffix(".jsonl").partition("-")[0]
            if "told" in row and kind in told:
                told[kind].append(row["at"])
    longest = 0.0
    for at, name in kills:
        later = [each for each in told[name.partition("-")[0]] if each > at]
        longest = max(longest, min(later, default=max(until, at)) - at)
    return longest


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
    failed = sum(trial.state == "failed" for trials in stored.values() for trial in trials)  # nobody reports a failure
    late = sum(trial.expired and trial.state == "complete" for trial in stored.get("slow-0", ()))
    told = sum("trying" not in row for rows in rows_of.values() for row in rows)
    counts = {"acknowledged": told, "trials": sum(map(len, stored.values()))}
    wrong = {"lost": lost, "doubled": doubled, "differing": differing, "failed_alive": failed, "told_late": late}
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
