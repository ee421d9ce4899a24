"""What the other tests rely on: a process ends with the test that started it."""

import os
import signal
import subprocess
import sys
import time

import pytest
from tests.processes import descendants, restore_interrupt, running, watched

PARENT = ["sh", "-c", "sleep 60 & echo $!; wait"]


def exists(process):
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return listed.stdout.strip() not in ("", "Z")


def gone(process):
    """Whether a killed process disappears: whoever inherits it may take a moment to collect it."""
    for _ in range(200):
        if not exists(process):
            return True
        time.sleep(0.05)
    return False


def test_a_failing_test_leaves_no_process_behind():
    families = []

    def fail():
        with watched([]):
            parent = subprocess.Popen(PARENT, stdout=subprocess.PIPE, text=True)
            families.append((parent, int(parent.stdout.readline())))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    ((parent, child),) = families
    parent.stdout.close()
    assert parent.returncode == -signal.SIGKILL
    assert gone(child)


def test_descendants_are_children_and_their_children():
    with running(["sh", "-c", "sh -c 'sleep 60 & echo $!; wait'; true"]) as parent:
        grandchild = int(parent.stdout.readline())
        assert grandchild in descendants(parent.pid)
        assert parent.pid not in descendants(parent.pid)


def test_a_program_ends_with_all_it_started():
    with running(PARENT) as parent:
        child = int(parent.stdout.readline())
        assert exists(child)
    assert parent.returncode == -signal.SIGKILL
    assert gone(child)


def test_children_receive_ctrl_c_where_the_parent_ignores_it():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        restore_interrupt()
        with running([sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]) as program:
            assert program.stdout.readline() == "up\n"
            os.kill(program.pid, signal.SIGINT)
            assert program.wait(timeout=60) == -signal.SIGINT
            assert "KeyboardInterrupt" in program.stderr.read()
    finally:
        signal.signal(signal.SIGINT, before)
