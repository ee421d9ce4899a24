"""Run every benchmark, or those named: `python -m benchmarks worst_cases growth`."""

import sys

from benchmarks import ask_growth, asks, control, growth, imports, journal, methods, worst_cases

ALL = {
    "asks": asks.main,
    "ask_growth": ask_growth.main,
    "methods": methods.main,
    "control": control.main,
    "journal": journal.main,
    "imports": imports.main,
    "worst_cases": worst_cases.main,
    "growth": growth.main,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or ALL:
        ALL[name]()
