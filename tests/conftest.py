"""Workers run in parallel: one thread each."""

import torch

torch.set_num_threads(1)


def pytest_terminal_summary(terminalreporter):
    """What tests measured on the way; no test depends on it."""
    for report in terminalreporter.getreports("passed"):
        for name, said in report.user_properties:
            if name == "throughput":
                terminalreporter.write_line(f"{name}: {said}")
