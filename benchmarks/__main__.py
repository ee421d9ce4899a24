"""Run every benchmark, or those named: `python -m benchmarks worst_cases growth`."""

import sys

from benchmarks import ask_growth, asks, control, defaults, growth, imports, journal, methods, worst_cases

ALL = {
    "asks": asks.main,
    "ask_growth": ask_growth.main,
    "methods": methods.main,
    "control": control.main,
    "journal": journal.main,
    "imports": imports.main,
    "worst_cases": worst_cases.main,
    "growth": growth.main,
    "defaults": lambda: defaults.main(["--show"]),  # `python -m benchmarks defaults` alone runs the campaign
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["defaults"]:
        defaults.main(sys.argv[2:])
    else:
        for name in sys.argv[1:] or ALL:
            ALL[name]()
