"""What a paired test measured is worth reading."""


def pytest_terminal_summary(terminalreporter):
    """The figures of tests that passed."""
    for report in terminalreporter.getreports("passed"):
        for name, said in report.user_properties:
            if name == "shifted":
                terminalreporter.write_line(said)
