import json
import logging
from asyncio import CancelledError

import pytest

from allweather._utils.logs import (
    MAX_REPEATED_LINES,
    JsonFormatter,
    RepeatFilter,
    StderrHandler,
    request_id,
    set_up_logs,
)


def record(line=1, at=0.0, **fields):
    made = logging.LogRecord("allweather", logging.INFO, "here.py", line, "line %d", (line,), None)
    made.created = at
    made.__dict__.update(fields)
    return made


def test_ten_lines_from_one_place_pass_in_a_minute():
    filtered = RepeatFilter()
    assert sum(filtered.filter(record()) for _ in range(50)) == MAX_REPEATED_LINES
    assert filtered.filter(record(line=2))
    later = record(at=61.0)
    assert filtered.filter(later)
    assert later.getMessage() == "line 1 (40 such lines were dropped)"


def test_lines_count_by_what_they_are_about():
    filtered = RepeatFilter()
    assert all(filtered.filter(record(repeats=None)) for _ in range(50))
    assert sum(filtered.filter(record(repeats=(401, "/"))) for _ in range(50)) == MAX_REPEATED_LINES
    assert filtered.filter(record(repeats=(404, "/")))


def test_a_request_that_is_cut_off_at_the_end_has_no_traceback():
    cancelled = CancelledError("Task cancelled, timeout graceful shutdown exceeded")
    for error, shown in ((cancelled, False), (ValueError("a mistake"), True)):
        made = record(exc_info=(type(error), error, None))
        assert RepeatFilter().filter(made)
        assert ("traceback" in json.loads(JsonFormatter().format(made))) == shown


def test_a_line_is_one_object_whatever_it_says():
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        made = record(exc_info=(type(error), error, error.__traceback__), fields={"path": "/\n\x1b[2J\udc80"})
    mark = request_id.set("r1")
    try:
        text = JsonFormatter().format(made)
    finally:
        request_id.reset(mark)
    assert text.isascii()
    assert text.isprintable()
    line = json.loads(text)
    assert (line["request"], line["path"], line["time"]) == ("r1", "/\n\x1b[2J\udc80", "1970-01-01T00:00:00.000+00:00")
    assert "two\nlines" in line["traceback"]


@pytest.fixture
def json_logs():
    """The server's loggers, which write JSON lines until the test ends."""
    loggers = [logging.getLogger(name) for name in ("allweather", "uvicorn.error", "asyncio")]
    before = loggers[0].level
    set_up_logs(True)
    set_up_logs(True)
    yield loggers
    loggers[0].setLevel(before)
    for logger in loggers:
        for handler in [each for each in logger.handlers if isinstance(each, StderrHandler)]:
            logger.removeHandler(handler)


def test_setting_up_twice_writes_once(json_logs, capsys, monkeypatch):
    json_logs[1].warning("odd request")
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["message"] == "odd request"
    monkeypatch.setattr("sys.stderr.write", lambda text: (_ for _ in ()).throw(OSError("full")), raising=False)
    json_logs[1].warning("nobody reads this")
