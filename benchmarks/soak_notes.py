"""What the processes of a soak write down: acknowledgements, and which study is being carried out."""

import json
import os
import time


def note(path, **fields):
    """Write an acknowledgement, and see that it is on the disk."""
    with path.open("a") as file:
        file.write(json.dumps({**fields, "at": time.time()}) + "\n")
        file.flush()
        os.fsync(file.fileno())


def acknowledged(folder):
    """What was acknowledged about each trial, in order."""
    found = {}
    for path in folder.glob("*.jsonl"):
        for line in path.read_text().splitlines() if path.name != "backup.jsonl" else ():
            try:
                row = json.loads(line)
            except ValueError:  # the worker was killed while it wrote
                continue
            number = next(row[kind] for kind in ("asked", "told", "trying") if kind in row)
            found.setdefault((row["study"], number), []).append({**row, "by": path.name})
    return found


def current(folder, kind, finished=None):
    """The number of the study of a kind that is being carried out, after the one that is finished."""
    path = folder / f"current-{kind}"
    number = int(path.read_text() or 0) if path.exists() else 0
    if finished is not None and finished + 1 > number:
        number, new = finished + 1, path.with_suffix(f".{os.getpid()}")
        new.write_text(str(number))
        new.replace(path)
    return number
