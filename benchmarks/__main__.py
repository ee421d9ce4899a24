"""Run every benchmark, or those named: `python -m benchmarks worst_cases growth`. Options begin with `--`."""

import sys

from benchmarks import ask_growth, asks, calibration, control, defaults, growth, imports, journal, methods, worst_cases

ALL = {
    "asks": asks.main,
    "ask_growth": ask_growth.main,
    "methods": methods.main,
    "control": control.main,
    "journal": journal.main,
    "imports": imports.main,
    "worst_cases": worst_cases.main,
    "growth": growth.main,
    "calibration": calibration.main,
    "defaults": lambda: defaults.main(["--show"]),  # `python -m benchmarks defaults` alone runs the campaign
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["defaults"]:
        defaults.main(sys.argv[2:])
    else:
        for name in [each for each in sys.argv[1:] if not each.startswith("-")] or ALL:
            ALL[name]()
