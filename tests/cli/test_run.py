import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.processes import kill_group
from tests.warm import Program, program

from allweather.cli import run as run_module
from allweather.cli.subprocesses import TrialCommand, environment, parse_answer
from allweather.storage import StorageError
from allweather.study import worker_pool
from allweather.trials import Trial

SIMULATION = """
import json, os, sys
given = json.load(sys.stdin)
order = given["decision"]["order"]
assert float(os.environ["AW_order"]) == order, "the environment says otherwise"
assert os.environ["ALLWEATHER_TRIAL"] == str(given["trial"])
demand = 10 + given["trial"] * 7 % 50
print("some chatter")
print(json.dumps({"value": 9 * min(order, demand) - 5 * order, "context": {"demand": demand}}))
"""


@pytest.fixture
def simulated(kiosk, folder):
    (folder / "simulate.py").write_text(SIMULATION)
    return kiosk


def command(*words: str) -> str:
    return " ".join([sys.executable, *words])


def alive(process: int) -> bool:
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return listed.stdout.strip() not in ("", "Z")


def test_a_command_carries_out_trials(simulated):
    done = simulated("run", command("simulate.py"), "--trials", 3, "--json").document
    assert done["states"] == {"complete": 3}
    for trial in done["trials"]:
        order, demand = trial["decision"]["order"], trial["context"]["demand"]
        assert trial["values"] == [9 * min(order, demand) - 5 * order]
    assert "trial 3 is complete" in simulated("run", command("simulate.py")).err


def test_one_worker_asks_as_a_person_would(simulated, folder):
    simulated("run", command("simulate.py"), "--trials", 7)
    simulated("init", "kiosk.toml", "--study", "by-hand")
    for number in range(7):
        (trial,) = simulated("ask", "--json", "--study", "by-hand").document["trials"]
        order, demand = trial["decision"]["order"], 10 + number * 7 % 50
        value = 9 * min(order, demand) - 5 * order
        simulated("tell", number, repr(value), "--context", f"demand={demand}", "--study", "by-hand")
    run, by_hand = (simulated("show", "--json", "--study", name).document["trials"] for name in ("kiosk", "by-hand"))
    assert run == by_hand


def test_several_workers(simulated, folder):
    together = "touch begun-$ALLWEATHER_TRIAL; until [ $(ls begun-* | wc -l) -eq 8 ]; do sleep 0.05; done"
    patient = ("--trials", 8, "--workers", 8, "--timeout", 120)
    done = simulated("run", f"{together}; {command('simulate.py')}", *patient, "--json").document
    assert len(list(folder.glob("begun-*"))) == 8
    assert sorted(trial["number"] for trial in done["trials"]) == list(range(8))
    assert done["states"] == {"complete": 8}


def test_what_takes_too_long_is_ended_with_all_it_started(simulated, folder):
    line = f"{command('-c', repr('import time; time.sleep(60)'))} & echo $! > child; wait"
    ended = simulated("run", line, "--timeout", 1, code=5)
    assert "took longer than 1 s" in ended.err
    assert "1 failed" in ended.out
    child = int((folder / "child").read_text())
    for _ in range(100):
        if not alive(child):
            return
        time.sleep(0.1)
    pytest.fail("the command's own child still runs")


def test_failures_are_retried_and_then_told(simulated, folder):
    flaky = 'test -e again && echo \'{"value": 1, "context": {"demand": 3}}\' || { touch again; exit 3; }'
    assert simulated("run", flaky, "--retries", 1, "--json").document["states"] == {"complete": 1}
    ended = simulated("run", "echo x >> attempts; echo broken pump >&2; exit 3", "--retries", 2, code=5)
    assert "exit code 3: broken pump" in ended.err
    assert (folder / "attempts").read_text() == "x\n" * 3
    for line in (
        "true",
        "echo done",
        "echo [1]",
        "echo NaN",
        "echo '{\"value\": Infinity}'",
        "echo '{\"valeu\": 1}'",
        "head -c 10000000 /dev/zero",
    ):
        assert simulated("run", line, "--json", code=5).document["states"] == {"failed": 1}, line


def test_answers_that_the_study_refuses_stop_the_run_and_stay_pending(simulated):
    for line, said in (
        ('{"value": 1, "context": {"demand": 999}}', "number in"),
        ('{"value": 1, "context": {"rain": 1}}', "rain"),
        ('{"value": "x", "context": {"demand": 9}}', "number"),
        ('{"value": 1, "context": [3]}', "rejects"),
        ('{"failed": "maybe", "value": 3}', "rejects"),
        ("{}", "rejects"),
    ):
        assert said in simulated("run", f"echo '{line}'", "--trials", 5, "--pending", code=2).err, line
    assert simulated("show", "--json").document["states"] == {"pending": 1}
    assert "not found" in simulated("run", "no-such-command", "--trials", 5, "--pending", code=2).err
    assert simulated("show", "--json").document["states"] == {"pending": 1}
    simulated("run", command("simulate.py"), "--pending")
    assert simulated("show", "--json").document["states"] == {"complete": 1}


def test_python_functions(simulated, folder, monkeypatch):
    (folder / "shop.py").write_text(
        "import numpy as np\n"
        "def profit(decision):\n"
        "    print('chatter')\n"
        "    return {'value': np.float64(decision['order']), 'context': {'demand': np.int64(3)}}\n"
    )
    (trial,) = simulated("run", "--function", "shop:profit", "--json").document["trials"]
    assert trial["values"] == [trial["decision"]["order"]]
    assert "has no attribute" in simulated("run", "--function", "shop:loss", code=2).err
    assert "No module" in simulated("run", "--function", "shops:profit", code=2).err
    assert "module:name" in simulated("run", "--function", "os;system", code=2).err
    simulated("run", "--function", "shop:profit", "echo 1", code=2)
    simulated("run", code=2)


@contextmanager
def ended_with(file: Path) -> Iterator[None]:
    """End the command whose shell wrote its number to the file, where it still runs: it has a session of its own."""
    try:
        yield
    finally:
        if file.exists() and (number := file.read_text().strip()):
            kill_group(int(number))


def number_in(file: Path, run: Program) -> int:
    """Wait for the number that a command of this run writes to the file."""
    while not file.exists() or not file.read_text().strip():
        assert run.poll() is None, run.stderr.read()
        time.sleep(0.05)
    return int(file.read_text())


def test_ctrl_c_leaves_a_study_that_goes_on(simulated, folder):
    words = ["-m", "allweather.cli", "run", "echo $$ > shell; sleep 60", "--pending"]
    for end in (signal.SIGINT, signal.SIGTERM):
        (folder / "shell").unlink(missing_ok=True)
        with program(*words) as run, ended_with(folder / "shell"):
            shell = number_in(folder / "shell", run)
            run.send_signal(end)
            _, said = run.communicate(timeout=60)
            assert run.returncode == 130, said
            assert "Pending: 0" in said
            assert "Traceback" not in said
            assert not alive(shell)
    assert simulated("run", command("simulate.py"), "--pending", "--json").document["trials"][0]["number"] == 0


CERTAIN = """
name = "certain"
seed = 7
initial = 4
surrogate = { name = "gp", lengthscales = 0.5, outputscale = 1.0, noise = 0.0001 }

[variables]
order = { lower = 0, upper = 100 }
demand = { lower = 0, upper = 100, context = true }
"""


def test_a_run_ends_when_little_is_left_to_gain(simulated):
    gains = ("--until-gain", 12)
    done = simulated("run", command("simulate.py"), "--trials", 30, *gains, "--json").document
    carried_out = len(done["trials"])
    assert 5 <= carried_out < 30
    assert done["possible_gain"] == simulated("recommend", "--json").document["possible_gain"] <= 12
    assert done["stopped"].startswith(f"The possible gain is {done['possible_gain']:.4g}, at most 12: ")
    again = simulated("run", command("simulate.py"), "--trials", 30, *gains).out
    assert "no trials carried out" in again
    assert "Stopped. The possible gain is" in " ".join(again.split())
    assert len(simulated("show", "--json").document["trials"]) == carried_out


def test_a_run_does_not_end_before_the_initial_design(simulated):
    done = simulated("run", command("simulate.py"), "--trials", 4, "--until-gain", 1e9, "--json").document
    assert (len(done["trials"]), done["stopped"], done["possible_gain"]) == (4, None, None)
    assert "the possible gain is not known yet" in simulated("run", "exit 3", "--until-gain", 1e9, code=5).out
    done = simulated("run", command("simulate.py"), "--trials", 4, "--until-gain", 1e9, "--json").document
    assert len(done["trials"]) == 1
    assert done["stopped"]


def test_trials_are_the_upper_limit(simulated):
    said = " ".join(simulated("run", command("simulate.py"), "--trials", 6, "--until-gain", 0.0001).out.split())
    assert "kiosk: 6 complete" in said
    assert "Not stopped early: the possible gain was" in said
    done = simulated("run", command("simulate.py"), "--json").document
    assert (done["stopped"], done["possible_gain"]) == (None, None)


def test_several_workers_start_nothing_after_the_end(simulated, folder):
    simulated("run", command("simulate.py"), "--trials", 4)
    waiting = "until [ $ALLWEATHER_TRIAL = 4 ] || [ -e seen ]; do sleep 0.05; done; sleep 0.3; touch seen"
    words = ("--trials", 20, "--workers", 3, "--timeout", 120, "--until-gain", 1e9, "--json")
    done = simulated("run", f"{waiting}; {command('simulate.py')}", *words).document
    assert sorted(trial["number"] for trial in done["trials"]) == [4, 5, 6]
    assert done["states"] == {"complete": 3}
    assert done["stopped"]
    assert simulated("show", "--json").document["states"] == {"complete": 7}


def test_a_run_does_not_end_while_the_model_is_poor(simulated, folder):
    (folder / "certain.toml").write_text(CERTAIN)
    simulated("init", "certain.toml")
    answer = '{\\"value\\": $((n * n * 7 % 5 * 100)), \\"context\\": {\\"demand\\": $((n * 13 % 60))}}'
    erratic = f'n=$ALLWEATHER_TRIAL; echo "{answer}"'
    simulated("run", erratic, "--trials", 8, "--study", "certain")
    found = simulated("recommend", "--study", "certain", "--json").document
    assert (bool(found["warning"]), found.get("possible_gain")) == (True, None)
    words = ("--trials", 1, "--until-gain", 1e9, "--study", "certain")
    assert "the possible gain is not known yet" in simulated("run", "exit 3", *words, code=5).out


@pytest.mark.parametrize("gain", [-1, "nan", "inf", "-inf"])
def test_gains_that_are_none_are_refused(simulated, gain):
    said = simulated("run", command("simulate.py"), "--until-gain", gain, code=2).err
    assert "`run --until-gain` must be a finite number, at least 0, got" in said
    assert simulated("show", "--json").document["trials"] == []


def test_a_database_that_does_not_answer_is_waited_for(monkeypatch):
    monkeypatch.setattr(worker_pool, "PAUSES", (0.0, 0.0))
    attempts = []

    def twice_in_vain() -> int:
        attempts.append(1)
        if len(attempts) < 3:
            raise StorageError("away")
        return 7

    assert worker_pool.retry_on_storage_error(twice_in_vain) == 7
    with pytest.raises(StorageError):
        worker_pool.retry_on_storage_error(lambda: (_ for _ in ()).throw(StorageError("gone")))


def test_an_answer_that_cannot_be_kept_is_said(simulated, monkeypatch):
    from allweather.study import Study

    monkeypatch.setattr(worker_pool, "PAUSES", ())
    monkeypatch.setattr(Study, "tell", lambda *_, **__: (_ for _ in ()).throw(StorageError("the disk is full")))
    said = simulated("run", 'echo \'{"value": 123.5, "context": {"demand": 9}}\'', code=3).err
    assert "123.5" in said
    assert "the disk is full" in said


def test_decisions_are_data_for_a_shell():
    trial = Trial(3, {"wood": "oak; rm -rf $HOME", "pots": 4, "dry": True, "p H": 0.1})
    names = environment(trial, "kiosk")
    assert (names["AW_wood"], names["AW_pots"], names["AW_dry"], names["AW_p_H"]) == (
        "oak; rm -rf $HOME",
        "4",
        "true",
        "0.1",
    )
    answer = TrialCommand('echo "{\\"value\\": $AW_pots}"; echo "$AW_wood" > /dev/null; echo 3')(trial, "kiosk")
    assert answer.told == {"value": 3}


def test_answers():
    assert parse_answer("3.5").told == {"value": 3.5}
    assert parse_answer(json.dumps({"value": [1, 2]})).told == {"value": [1, 2]}
    assert "did you mean 'value'" in parse_answer('{"valu": 1}').failure
    for line in ("", "true", "null", '"3"', "[" * 99_999):
        assert parse_answer(line).told is None


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP])
def test_the_end_of_the_terminal_ends_what_a_run_started(end):
    with pytest.raises(KeyboardInterrupt), run_module._sigterm_as_interrupt():
        signal.raise_signal(end)
