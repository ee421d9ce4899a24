"""What `import allweather` costs, against `import botorch`, which it needs anyway."""

from __future__ import annotations

import subprocess
import sys
import time

from rich.console import Console

RUNS = 9
TARGET = 1.3


def seconds(statement: str) -> float:
    """Of a new interpreter that does this and nothing else."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - started


def main() -> None:
    """Turn by turn, so that what else the machine does hits both; the quickest of each counts."""
    runs = [(seconds("import botorch"), seconds("import allweather")) for _ in range(RUNS)]
    theirs, ours = (min(column) for column in zip(*runs, strict=True))
    Console(width=110).print(
        f"import allweather {ours:.2f} s, import botorch {theirs:.2f} s: ratio {ours / theirs:.2f} (target {TARGET})"
    )
