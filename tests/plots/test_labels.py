from types import SimpleNamespace

from allweather.plots.labels import noted


def test_captions_say_what_was_approximated():
    assert noted("A curve.", SimpleNamespace(approximation="")) == "A curve."
    few = SimpleNamespace(approximation="the spread is computed on 64 of 1024 contexts")
    assert noted("A curve.", few) == "A curve. Approximation: the spread is computed on 64 of 1024 contexts."
