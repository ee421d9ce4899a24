"""The library's mistakes as a page says them: without the names that programs use."""

from __future__ import annotations

import re

from allweather.dashboard.problems import sentence

WORDS = (
    (r"`Study\.tell\(\.\.\.\)`.*", "write an outcome or what happened, or tick that it failed"),
    (r"`Study\.tell\(value=\.\.\., failed=True\)`.*", "either there is an outcome or it failed, not both"),
    (r"`Study\.correct\(\.\.\.\)`.*", "write what is to be put right"),
    (
        r"`Study\.\w+\(trial=(\d+)\)` must not have been withdrawn.*",
        r"trial \1 was withdrawn: it is not told any more",
    ),
    (r"`Study\.correct\(trial=(\d+)\)`.* got 'withdrawn'", r"trial \1 was withdrawn: nothing can be put right in it"),
    (r"`Study\.correct\(trial=(\d+)\)`.*", r"nothing was told of trial \1 yet that could be put right"),
    (r"`Study\.tell\(trial=(\d+)\)` must not have an outcome.*", r"trial \1 has an outcome, so it did not fail"),
    (
        r"`Study\.tell\(trial=(\d+)\): (?:value|context|decision)`.*",
        r"something else was told of trial \1 before: its own page puts it right",
    ),
    (r"`(?:context |decision )?([^`]*)`", r"\1"),
)


def spoken(mistake: object) -> str:
    """A mistake in plain words.

    Example:
        >>> spoken("`context demand` must be a number in [0, 100], got 300.0")
        'demand must be a number in [0, 100], got 300.0'
        >>> spoken("`Study.tell(...)` must tell a value, a context, a decision or a failure, got 'nothing'")
        'write an outcome or what happened, or tick that it failed'
    """
    text = sentence(mistake)
    for pattern, words in WORDS:
        text = re.sub(pattern, words, text)
    return text
