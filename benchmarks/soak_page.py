"""The pages of a soak, and those who visit them."""

import json
import math
import os
import re
import select
import subprocess
import sys
import time

from benchmarks.soak_notes import current, note
from benchmarks.soak_verdict import nature, page_study

PATIENCE = 180
"""Seconds in which a page ends when it is told to, also on a busy machine."""
PAGED, VISITORS, REQUESTS = 120, 4, 240
"""Trials of a study that visitors carry out before the next one begins, the number of visitors, and the requests that
they make in a minute together, if they are answered in time."""


class Page:
    """The dashboard in a process of its own; its address is in a file, for those who use it."""

    def __init__(self, url, address):
        self.url, self.address, self.restarts, self.trouble, self.ended = url, address, 0, [], None
        self.start()
        while not self.ready:
            time.sleep(0.1)
            self.follow()
        assert not self.trouble, "the page did not start"

    def start(self):
        """Start the page on a free port; `follow` notes the address once it is known."""
        words = [sys.executable, "-m", "allweather.cli", "dashboard", "--storage", self.url, "--port", "0", "--json"]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, process_group=0)
        self.ready, self.ended = False, None

    def end(self, kind):
        """End the page with a signal; `follow` starts it again."""
        os.killpg(self.process.pid, kind)
        self.ready, self.ended = False, time.time()

    def follow(self):
        """Note the address of a page that has started, and start one that has ended."""
        code = self.process.poll()
        if code is not None:
            self.restarts += 1
            if self.ended is None:
                self.trouble.append(f"{self.address.name} ended by itself, with exit code {code}")
            self.process.stdout.close()
            self.start()
        elif self.ended is not None and time.time() > self.ended + PATIENCE:
            self.trouble.append(f"{self.address.name} did not end within {PATIENCE} s")
            self.ended = math.inf
            self.process.kill()
        elif not self.ready and select.select([self.process.stdout], [], [], 0)[0]:
            found = re.search(r"http://[^\"]+", self.process.stdout.readline())
            if found:
                new = self.address.with_suffix(".new")
                new.write_text(found.group(0).rstrip("/"))
                new.replace(self.address)
                self.ready = True

    def close(self):
        """End the page for good."""
        self.end(15)
        self.process.wait()
        self.process.stdout.close()


def visit(url, folder, place, until):
    """Read pages, ask, tell and correct until the end; then write how many requests there were, and what was wrong."""
    import httpx

    from allweather.errors import StorageError

    requests, errors, turn, began = 0, [], 0, time.time()

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
            due = began + 60 * requests * VISITORS / REQUESTS
            time.sleep(min(max(due - time.time(), 0.2), max(until - time.time(), 0)))
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
