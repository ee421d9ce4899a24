"""Another process that goes on with a study until it is stopped: run with a database's address and a name."""

import math
import sys
import time

from allweather.study import StudyLog  # it begins at once: no torch


def feed(url, name):
    study = StudyLog.open(url, name)
    for turn in range(200):
        demand, order = 45 + 20 * math.sin(3.7 * turn), 40 + 20 * math.sin(2.3 * turn)
        row = {"order": order, "demand": demand, "value": 9 * min(order, demand) - 5 * order}
        (trial,) = study.add([row])
        sys.stdout.write(f"{trial.number}\n")
        sys.stdout.flush()
        time.sleep(0.4)  # the work that a trial takes


if __name__ == "__main__":
    feed(*sys.argv[1:])
