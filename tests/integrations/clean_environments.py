# ruff: noqa: T201 (it is run by command)
"""Each integration in an environment of its own, with that extra and nothing else: `clean_environments.py [names]`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
HERE = "tests/integrations"
EXAMPLES = f"{HERE}/test_examples.py"
UNASKED = ("ax", "fastapi", "gest_api", "optuna", "plotly")
"""What `import allweather` must not import, installed or not."""
LOOK = f"import sys, allweather; found = [n for n in {UNASKED} if n in sys.modules]; assert not found, found"


@dataclass(frozen=True)
class Environment:
    """What is installed, and which tests it must pass."""

    extra: str
    pins: tuple[str, ...]
    tests: tuple[str, ...]
    """Test files and pages."""

    @property
    def requirement(self) -> str:
        """This package, as pip wants it."""
        return f"{ROOT}[{self.extra}]" if self.extra else str(ROOT)


IMPORTS = f"{HERE}/test_imports.py"
COMING_FROM = "tests/docs/test_coming_from.py"
HUB = "optunahub==0.5.*"
OPTUNA = (
    f"{HERE}/test_optuna.py",
    f"{HERE}/test_optunahub.py",
    IMPORTS,
    "docs/optuna.md",
    "docs/coming_from/optuna.md",
)
ENVIRONMENTS = {
    "botorch": Environment(
        "",
        (),
        (
            *(f"{HERE}/test_botorch_{name}.py" for name in ("acquisition", "input_noise", "objective")),
            "docs/botorch.md",
        ),
    ),
    "optuna-5": Environment("optuna", ("optuna==5.*", HUB), OPTUNA),
    "optuna-4.9": Environment("optuna", ("optuna==4.9.*", HUB), OPTUNA),
    "ax": Environment(
        "ax", ("ax-platform==1.3.*",), (f"{HERE}/test_ax.py", f"{HERE}/test_ax_outcomes.py", IMPORTS, "docs/ax.md")
    ),
    "xopt": Environment(
        "gest-api",
        ("xopt==3.2.*", "gest-api==0.2.*"),
        (f"{HERE}/test_gest_api.py", f"{HERE}/test_xopt.py", IMPORTS, COMING_FROM, "docs/gest_api.md"),
    ),
    "baybe": Environment("", ("baybe==0.15.*",), (COMING_FROM, "docs/coming_from/baybe.md")),
}


def main(names: list[str]) -> int:
    """The number of environments whose tests failed."""
    failures = 0
    for name in names or ENVIRONMENTS:
        with TemporaryDirectory() as folder:
            failures += not tried(name, ENVIRONMENTS[name], Path(folder))
    return failures


def tried(name: str, environment: Environment, folder: Path) -> bool:
    """Whether everything works in a new environment."""
    python, started = folder / "bin" / "python", time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    constraints = ["-c", str(ROOT / "constraints.txt")]
    subprocess.run([*pip, *constraints, environment.requirement, *environment.pins, "pytest", "hypothesis"], check=True)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    print(f"== {name}: installed in {time.perf_counter() - started:.0f} s, {size / 2**20:.0f} MiB", flush=True)
    tests = [str(python), "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *environment.tests, EXAMPLES]
    commands = [[str(python), "-c", LOOK], tests]
    settings = {**os.environ, "ALLWEATHER_SHIFT_SEEDS": "5"}
    results = [subprocess.run(command, check=False, cwd=ROOT, env=settings).returncode for command in commands]
    print(f"== {name}: {'good' if not any(results) else f'failed {results}'}", flush=True)
    return not any(results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
