"""The benchmark of objectives and distances, in miniature."""

from benchmarks.objectives import main


def test_the_miniature_prints_ratios(capsys):
    main(["--quick", "--objectives", "DRO", "--distances", "Wasserstein", "--figures"])
    printed = capsys.readouterr().out
    assert "Wasserstein" in printed
    assert "aim 3, limit 5" in printed
    assert printed.count("x") >= 3
