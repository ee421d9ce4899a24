"""Another process that goes on with a study until it is stopped: run with a database's address and a name."""

import math
import sys
import time

from allweather import Study


def feed(url, name):
    study = Study.load(url, name)
    for turn in range(200):
        trial = study.ask()
        demand = 45 + 20 * math.sin(3.7 * turn)
        order = trial.decision["order"]
        study.tell(trial, 9 * min(order, demand) - 5 * order, context={"demand": demand})
        sys.stdout.write(f"{trial.number}\n")
        sys.stdout.flush()
        time.sleep(0.4)  # the work that a trial takes


if __name__ == "__main__":
    feed(*sys.argv[1:])
