"""The campaign behind the defaults, in miniature."""

from pathlib import Path

import pytest
from benchmarks.comparison import Results
from benchmarks.defaults import builders, main, verdicts
from benchmarks.paired import PairedRun, campaign, read


def line(method: str, seed: int, cumulative: float, recommended: float = 1.0) -> dict:
    return {
        "problem": "branin",
        "method": method,
        "seed": seed,
        "cumulative": [cumulative, cumulative],
        "recommended": [recommended, recommended],
    }


def test_the_miniature_prints_its_table(capsys):
    main(["--quick"])
    printed = capsys.readouterr().out
    assert "sbo-kde" in printed
    assert "cumulative regret of the default against sbo-kde" in printed


def test_a_campaign_resumes_and_pairs_its_runs(tmp_path: Path):
    path = tmp_path / "results.jsonl"
    runs = [PairedRun("newsvendor", name, 3) for name in ("sbo-kde", "default")]
    first = campaign(runs[:1], builders(), 1, path, report=False)
    with path.open("a") as file:
        file.write('{"problem": "newsv')  # the process was killed here
    assert read(path) == first
    path.write_text(path.read_text().rpartition("\n")[0] + "\n")
    both = campaign(runs, builders(), 1, path, report=False)
    assert [each["method"] for each in both] == ["sbo-kde", "default"]
    assert both[0] == first[0]


def test_ratios_are_paired_by_problem_and_seed():
    results = Results.of(
        [line("sbo-kde", 1, 2.0), line("sbo-kde", 2, 8.0), line("default", 1, 1.0), line("default", 2, 4.0)]
    )
    ratio = results.ratio("default", "sbo-kde", "cumulative")
    assert ratio.value == pytest.approx(0.5)
    assert ratio.error == pytest.approx(0)
    assert ratio.pairs == 2


def test_a_published_method_that_is_better_is_named():
    lines = [line("sbo-kde", seed, 1.0 + 0.01 * seed) for seed in range(5)]
    lines += [line("default", seed, 2.0) for seed in range(5)] + [line("drbo-kde", seed, 3.0) for seed in range(5)]
    said = verdicts(Results.of(lines))
    assert "not met" in said[0]
    assert "sbo-kde on branin" in said[-1]
    assert "drbo-kde on branin" not in said[-1]
