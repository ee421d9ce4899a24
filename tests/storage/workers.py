"""What workers do in the tests: processes that ask and tell, and may be killed at any moment."""

import math
import multiprocessing
import os
import signal
import time

import allweather as aw

SPACE = aw.Space(order=aw.Real(0, 1), demand=aw.Context(0, 1))
FORK = multiprocessing.get_context("fork")  # a fresh interpreter would spend its life importing torch


def study(url, name="kiosk", **options):
    return aw.Study(SPACE, context=aw.KDE(32), seed=7, storage=url, name=name, **options)


def nature(number):
    """The demand of a trial, whoever carries it out and whenever."""
    return 0.5 + 0.4 * math.sin(3.7 * number)


def carry_out(own, trial):
    demand = nature(trial.number)
    order = trial.decision["order"]
    return own.tell(trial, 9 * min(order, demand) - 5 * order, context={"demand": demand})


def work(url, trials, acknowledged=None, name="kiosk"):
    """Finish what was begun, then ask and tell until there are so many trials."""
    own = study(url, name)
    for trial in own.history.trials:
        if trial.state == "pending":
            carry_out(own, trial)
            _acknowledge(acknowledged, trial.number)
    while len(own.trials()) < trials:
        trial = own.ask()
        carry_out(own, trial)
        _acknowledge(acknowledged, trial.number)


def _acknowledge(path, number):
    if path is not None:
        with path.open("a") as file:
            file.write(f"{number}\n")
            file.flush()
            os.fsync(file.fileno())


def share(url, trials, name="kiosk"):
    """One of several workers: ask and tell as long as trials are wanted."""
    own = study(url, name)
    while len(own.trials()) < trials:
        carry_out(own, own.ask())


def kill_after(seconds, target, *arguments):
    """Run a process and kill it without warning; whether it had finished before."""
    process = FORK.Process(target=target, args=arguments, daemon=True)
    process.start()
    process.join(seconds)
    finished = process.exitcode is not None
    if not finished:
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    else:
        assert process.exitcode == 0
    return finished


def together(count, target, *arguments):
    """Seconds that so many processes take to do the same."""
    started = time.perf_counter()
    processes = [FORK.Process(target=target, args=arguments, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * count
    return time.perf_counter() - started
