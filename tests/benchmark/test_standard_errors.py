from benchmarks.standard_errors import run


def test_standard_errors_divide_the_regret_by_three():
    assert run(1, told=True, trials=16, initial=16) < run(1, told=False, trials=16, initial=16) / 3
