"""Run every benchmark, or those named: `python -m benchmarks worst_cases growth`.

With `--store` the tables of docs/speed.md are kept: `python -m benchmarks asks --store`, and `speed_page` writes it.
Campaigns take hours. They run only when named first, and then take options: `python -m benchmarks defaults --help`.
"""

import sys

from benchmarks import (
    ask_growth,
    asks,
    botorch_tutorial,
    calibration,
    cases,
    cautious,
    combinations,
    constraints,
    constraints_page,
    contexts,
    control,
    control_defaults,
    default_ask,
    default_choice,
    defaults,
    evidence,
    floor,
    fuzz,
    gpu,
    growth,
    imports,
    journal,
    league,
    league_page,
    many_studies,
    mars_tutorial,
    methods,
    mmd_paths,
    objectives,
    optimize_kills,
    papers,
    possible_gain,
    results_page,
    same_decisions,
    same_speed,
    schedules,
    simulator,
    simulator_page,
    small_data,
    soak,
    speed_page,
    stages,
    standard_errors,
    stored_tables,
    trials,
    walks,
    worst_cases,
    xopt_generator,
)

CAMPAIGNS = {
    "defaults": defaults.main,
    "default_choice": default_choice.main,
    "botorch_tutorial": botorch_tutorial.main,
    "calibration": calibration.main,
    "cases": cases.main,
    "cautious": cautious.main,
    "control_defaults": control_defaults.main,
    "constraints": constraints.main,
    "floor": floor.main,
    "league": league.main,
    "many_studies": many_studies.main,
    "mars_tutorial": mars_tutorial.main,
    "fuzz": fuzz.main,
    "mmd_paths": mmd_paths.main,
    "objectives": objectives.main,
    "optimize_kills": optimize_kills.main,
    "papers": papers.main,
    "possible_gain": possible_gain.main,
    "results": results_page.main,
    "schedules": schedules.main,
    "simulator": simulator.main,
    "small_data": small_data.main,
    "trials": trials.main,
    "soak": soak.main,
    "gpu": gpu.main,
    "stages": stages.main,
    "contexts": contexts.main,
    "combinations": combinations.main,
    "same_decisions": same_decisions.main,
    "same_speed": same_speed.main,
    "walks": walks.main,
}
ALL = {
    "asks": asks.main,
    "ask_growth": ask_growth.main,
    "default_ask": default_ask.main,
    "stages": stages.main,
    "contexts": contexts.main,
    "methods": methods.main,
    "objectives": objectives.main,
    "control": control.main,
    "journal": journal.main,
    "imports": imports.main,
    "standard_errors": standard_errors.main,
    "worst_cases": worst_cases.main,
    "growth": growth.main,
    "walks": walks.main,
    "defaults": lambda: defaults.main(["--show"]),
    "calibration": lambda: calibration.main(["--show"]),
    "league": lambda: league.main(["--show"]),
    "simulator": lambda: simulator.main(["--show"]),
    "trials": lambda: trials.main(["--quick"]),
    "evidence": evidence.main,
    "simulator_page": simulator_page.main,
    "constraints_page": constraints_page.main,
    "league_page": league_page.main,
    "speed_page": speed_page.main,
    "xopt_generator": xopt_generator.show,
}

if __name__ == "__main__":
    if "--store" in sys.argv:
        sys.argv.remove("--store")
        stored_tables.Stored.folder = stored_tables.FOLDER
    if sys.argv[1:2] and sys.argv[1] in CAMPAIGNS:
        CAMPAIGNS[sys.argv[1]](sys.argv[2:])
    else:
        for name in sys.argv[1:] or ALL:
            ALL[name]()
