import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
quiet = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:A not p.d.", "ignore:Optimization failed")


@quiet
@pytest.mark.parametrize(
    ("name", "tool"),
    [("botorch_loop", "botorch"), ("optuna_sampler", "optuna"), ("ax_node", "ax"), ("xopt_generator", "xopt")],
)
def test_it_runs_and_goes_on(name, tool, tmp_path, capsys):
    pytest.importorskip(tool, reason=f"{tool} is not installed: it is tested by `make integrations`")
    main = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]
    for _ in range(2):
        main(6) if tool == "botorch" else main(6, tmp_path)
    said = capsys.readouterr().out
    assert "12 days" in said or said.count("vans") == 6
