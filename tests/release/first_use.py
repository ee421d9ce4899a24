# ruff: noqa: T201 (it is run by command)
"""What README and the installation page promise, in an empty folder with nothing but Python, make and git.

`python tests/release/first_use.py readme` runs the two commands of README from a clone, and from the source archive
in `dist/`; with `--quick`, `make test` leaves out what is slow. `... wheel` goes from an empty environment and the
wheel in `dist/` to a first recommendation, and writes the transcript into docs/releasing.md.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
PAGE = ROOT / "docs" / "releasing.md"
PROGRAMS = ("make", "git")
BASICS = ("sh", "id", "touch")
"""What every system with a shell has, and the Makefile uses."""
NETWORK = re.compile(r"PIP_\w+|SSL_CERT_\w+|\w+_proxy|\w+_PROXY")
"""Variables that say where packages come from: the only ones that are passed on."""


class Empty:
    """A folder and an environment in which nothing is installed.

    Args:
        folder: new.
        python: the interpreter that is called `python3` there.
    """

    def __init__(self, folder: Path, python: str) -> None:
        self.folder, self.shown = folder, list[str]()
        programs = folder / "bin"
        for name in ("bin", "home", "tmp", "work"):
            (folder / name).mkdir(parents=True)
        for name in (*PROGRAMS, *BASICS):
            found = shutil.which(name)
            if found is None:
                raise SystemExit(f"{name} is missing on this machine")
            (programs / name).symlink_to(found)
        launcher = programs / "python3"  # a link would lose the place of its libraries
        launcher.write_text(f'#!{shutil.which("sh")}\nexec "{python}" "$@"\n')
        launcher.chmod(0o755)
        known = {key: value for key, value in os.environ.items() if NETWORK.fullmatch(key)}
        self.settings = {
            **known,
            "PATH": str(programs),
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "LANG": "C.UTF-8",
            "COLUMNS": "110",
        }

    def ran(self, command: str, folder: Path, **settings: str) -> tuple[int, str, float]:
        """Run a command line; return its exit status, what it printed, and seconds."""
        began = time.monotonic()
        words = [str(self.folder / "bin" / "sh"), "-c", command]
        both = {**self.settings, **settings}
        ended = subprocess.run(
            words, cwd=folder, env=both, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return ended.returncode, ended.stdout, time.monotonic() - began


def mebibytes(folder: Path) -> int:
    """The size of all files in a folder."""
    return round(sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20)


def readme_commands() -> list[str]:
    """The two commands that README begins with."""
    found = re.findall(r"^    (make \w+) ", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert found == ["make demo", "make test"], found
    return found


def try_readme(python: str, quick: bool) -> int:
    """The number of commands that failed."""
    (archive,) = DIST.glob("*.tar.gz")
    failures = 0
    for origin in ("clone", "source distribution"):
        with TemporaryDirectory() as temporary:
            empty = Empty(Path(temporary) / "empty", python)
            source = empty.folder / "work" / "allweather"
            if origin == "clone":
                status, said, _ = empty.ran(f"git clone --quiet '{ROOT}' allweather", source.parent)
                assert status == 0, said
            else:
                with tarfile.open(archive) as files:
                    files.extractall(source.parent, filter="data")
                source = next(source.parent.iterdir())
            for command in readme_commands():
                settings = {"PYTEST_ADDOPTS": "--fast"} if quick and command == "make test" else {}
                status, said, seconds = empty.ran(command, source, **settings)
                good = status == 0 and ("demo" not in command or "After 40 days: order" in said)
                failures += not good
                size = mebibytes(source / ".venv")
                last = next((line for line in reversed(said.splitlines()) if line.strip()), "")
                verdict = "good" if good else "failed"
                shown = " ".join([command, *(f"{key}={value}" for key, value in settings.items())])
                print(f"{origin}, {shown}: {verdict} in {seconds:.0f} s, .venv has {size} MiB; {last}", flush=True)
                if not good:
                    print(said[-6000:], flush=True)
    return failures


QUICK_START = re.compile(r"\*\*Quick start\*\*\n\n```python\n(.*?)```", re.DOTALL)


def quick_start() -> str:
    """The program of README's first example, which prints its recommendation."""
    found = QUICK_START.search((ROOT / "README.md").read_text())
    assert found, "README has no quick start"
    lines = [line[4:] for line in found[1].splitlines() if line.startswith((">>>", "..."))]
    kept = lines[: next(n for n, line in enumerate(lines) if line.startswith("best =")) + 1]
    return "\n".join([*kept, "print(best)"]) + "\n"


def try_wheel(python: str) -> int:
    """From the wheel to a recommendation; the transcript goes into the page."""
    (wheel,) = DIST.glob("*.whl")
    with TemporaryDirectory() as temporary:
        empty = Empty(Path(temporary) / "empty", python)
        place = empty.folder / "work"
        for file in (wheel, ROOT / "constraints.txt"):
            shutil.copy(file, place)
        (place / "order.py").write_text(quick_start())
        commands = (
            "python3 --version",
            "python3 -m venv aw",
            f"aw/bin/pip install --quiet -c constraints.txt {wheel.name}",
            "aw/bin/allweather --version",
            "aw/bin/python order.py",
        )
        lines = [f"$ ls  # an empty folder, but for {wheel.stat().st_size // 1024} KiB of wheel"]
        lines += sorted(file.name for file in place.iterdir())
        for command in commands:
            before = os.times()
            status, said, seconds = empty.ran(command, place)
            worked = sum(os.times()[2:4]) - sum(before[2:4])
            lines += [f"$ {command}", *said.rstrip().splitlines()]
            size = f", aw has {mebibytes(place / 'aw')} MiB" if (place / "aw").is_dir() else ""
            lines.append(f"# {seconds:.1f} s, of them {worked:.1f} s of CPU time{size}")
            if status:
                print("\n".join(lines))
                return status
    shown = "\n".join(line.rstrip() for line in lines if not line.startswith("WARNING: Location"))
    print(shown)
    text = PAGE.read_text()
    before, _, rest = text.partition("<!-- transcript -->\n")
    _, _, after = rest.partition("<!-- end transcript -->")
    PAGE.write_text(f"{before}<!-- transcript -->\n\n```text\n{shown}\n```\n\n<!-- end transcript -->{after}")
    return 0


if __name__ == "__main__":
    interpreter = os.environ.get("RELEASE_PYTHON") or getattr(sys, "_base_executable", sys.executable)
    sys.exit(try_wheel(interpreter) if sys.argv[1] == "wheel" else try_readme(interpreter, "--quick" in sys.argv[2:]))
