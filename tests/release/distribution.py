# ruff: noqa: T201 (it is run by command)
"""Wheel and source distribution, checked: `python -m tests.release.distribution`, with the tools of `requirements.txt`.

Both are built from the files of the last commit and put into `dist/`, with checksums and an SBOM (CycloneDX) of what a
plain installation of the wheel brings.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.release.matrix import ROOT, interpreter, name_of, requirements, resolved, uv

DIST = ROOT / "dist"
FOREIGN = (".db", ".npz", ".pdf", ".sqlite", ".whl", ".zip")
"""Endings of files that no distribution has: papers, data, databases; but for the fixtures of earlier versions."""
FIXTURES = "tests/release/stored/"
MAX_MEBIBYTES = 8
"""Of a distribution: the wheel has 1, the source distribution 4."""
LINK_TO_A_FILE = re.compile(r"\]\((?!https?:|#|mailto:)")


def build(source: Path, out: Path) -> tuple[Path, Path]:
    """Build a wheel from the source distribution; return both."""
    words = [sys.executable, "-m", "build", "--outdir", str(out), str(source)]
    ended = subprocess.run(words, check=False, capture_output=True, text=True)
    if ended.returncode:
        raise SystemExit(ended.stdout + ended.stderr)
    (wheel,), (archive,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, archive


def metadata(wheel: Path) -> Message:
    """What a package index shows."""
    with zipfile.ZipFile(wheel) as files:
        (name,) = [each for each in files.namelist() if each.endswith(".dist-info/METADATA")]
        return message_from_bytes(files.read(name))


def written_versions() -> dict[str, str]:
    """The version wherever a file says it; pyproject.toml is the one that counts."""
    found = {"pyproject.toml": tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]}
    for name, pattern in (
        ("src/allweather/__init__.py", r'^__version__ = "(.*)"$'),
        ("CITATION.cff", r"^version: (.*)$"),
        ("CHANGELOG.md", r"^## \[(\d.*)\] - \d{4}-\d{2}-\d{2}$"),  # the first of them is the newest
    ):
        said = re.search(pattern, (ROOT / name).read_text(), re.MULTILINE)
        found[name] = said[1] if said else "none"
    return found


def problems(wheel: Path, archive: Path, committed: set[str]) -> list[str]:
    """What is wrong with the two, in sentences."""
    said = metadata(wheel)
    with zipfile.ZipFile(wheel) as files:
        packed = set(files.namelist())
    with tarfile.open(archive) as files:
        sources = {"/".join(each.name.split("/")[1:]) for each in files.getmembers() if each.isfile()} - {"PKG-INFO"}
    versions = written_versions()
    of_package = {each.removeprefix("src/") for each in committed if each.startswith("src/allweather/")}
    licences = {each for each in packed if ".dist-info/licenses/" in each}
    found = {
        f"the version is not the same everywhere: {versions}": len(set(versions.values())) > 1,
        f"the wheel says {said['Version']}": said["Version"] != versions["pyproject.toml"],
        "py.typed is missing": "allweather/py.typed" not in packed,
        f"the licences are {sorted(licences)}": len(licences) != len(said.get_all("License-File", [])) or not licences,
        f"the wheel lacks {sorted(of_package - packed)}": not of_package <= packed,
        "the description links to files, which an index does not have": bool(
            LINK_TO_A_FILE.search(str(said.get_payload()))
        ),
    }
    for name, has in (("wheel", packed), ("source distribution", sources)):
        foreign = sorted(each for each in has if each.endswith(FOREIGN) and not each.startswith(FIXTURES))
        found[f"the {name} contains {foreign}"] = bool(foreign)
    stray = sorted(sources - committed)
    found[f"the source distribution has files that are in no commit: {stray}"] = bool(stray)
    for each in (wheel, archive):
        size = each.stat().st_size / 2**20
        found[f"{each.name} has {size:.1f} MiB"] = size > MAX_MEBIBYTES
    return [sentence for sentence, wrong in found.items() if wrong]


def write_sbom(wheel: Path, out: Path) -> None:
    """Install the wheel into an empty environment, and write down what is in it."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    (pin,) = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch==")]
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        python = interpreter(version) or sys.executable
        assert resolved(folder, python, "newest", [*requirements(""), pin])
        uv("venv", "--python", python, str(folder / "empty"), settings={})
        inside = str(folder / "empty" / "bin" / "python")
        uv("pip", "sync", "--python", inside, str(folder / "resolved.txt"), settings={})
        uv("pip", "install", "--python", inside, "--no-deps", str(wheel), settings={})
        words = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--mc-type", "library"]
        words += ["--pyproject", str(ROOT / "pyproject.toml"), "--output-file", str(out), inside]
        subprocess.run(words, check=True)
    told = json.loads(out.read_text())
    told["components"].append(copied_script())
    out.write_text(json.dumps(told, indent=2) + "\n")
    named = {name_of(each["name"]) for each in json.loads(out.read_text())["components"]}
    missing = {name_of(each) for each in requirements("")} - {each.replace("_", "-") for each in named}
    assert not missing, f"the SBOM lacks {missing}"


def copied_script() -> dict[str, object]:
    """The component that no installer knows: the copy of htmx in the dashboard."""
    (file,) = (ROOT / "src" / "allweather" / "dashboard" / "static").glob("htmx-*.min.js")
    version = file.name.removeprefix("htmx-").removesuffix(".min.js")
    return {
        "type": "library",
        "bom-ref": "htmx.org",
        "name": "htmx.org",
        "version": version,
        "purl": f"pkg:npm/htmx.org@{version}",
        "licenses": [{"license": {"id": "0BSD"}}],
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(file.read_bytes()).hexdigest()}],
    }


def main() -> int:
    """Build from the last commit, check, and put all into `dist/`; the number of problems."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    committed = set(listed.splitlines())
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True, text=True)
    if changed.stdout:
        print(f"not committed, and not in what is built:\n{changed.stdout}", end="")
    with TemporaryDirectory() as temporary:
        source = Path(temporary) / "source"
        source.mkdir()
        packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(source)], input=packed, check=True)
        out = Path(temporary) / "dist"
        wheel, archive = build(source, out)
        wrong = problems(wheel, archive, committed)
        subprocess.run([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(archive)], check=True)
        for each in wrong:
            print(f"problem: {each}")
        if wrong:
            return len(wrong)
        write_sbom(wheel, out / f"{wheel.name.split('-py3')[0]}.cdx.json")
        made = sorted(file for file in out.iterdir() if not file.name.startswith("."))
        sums = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in made)
        (out / "SHA256SUMS").write_text(sums)
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(out, DIST, ignore=shutil.ignore_patterns(".gitignore"))
    for file in sorted(DIST.iterdir()):
        print(f"dist/{file.name}: {file.stat().st_size / 1024:.0f} KiB")
    if "Repository" not in metadata(next(DIST.glob("*.whl"))).as_string():
        print("no address of the repository in pyproject.toml (project.urls): the description has no links to files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
