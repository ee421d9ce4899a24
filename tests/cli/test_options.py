"""What a command says to type next works as it is."""

import re
import shlex

import pytest

from allweather.cli.options import study_options


def next_command(said: str) -> list[str]:
    (found,) = re.findall(r"(?:Next|Then): allweather (.*)", " ".join(said.split()))
    return shlex.split(found)


def test_the_next_command_names_the_study_where_there_are_several(terminal):
    assert next_command(terminal("init", "kiosk.toml").out) == ["ask"]
    words = next_command(terminal("init", "kiosk.toml", "--study", "the other booth").out)
    assert words == ["ask", "--study", "the other booth"]
    told = next_command(terminal(*words).out)
    assert told == ["tell", "0", "VALUE", "--context", "demand=...", "--study", "the other booth"]
    answers = {"VALUE": "3.5", "demand=...": "demand=20"}
    assert "complete" in terminal(*(answers.get(word, word) for word in told)).out


def test_the_next_command_names_the_database(terminal):
    words = next_command(terminal("init", "kiosk.toml", "--storage", "sqlite:///own file.db").out)
    assert words == ["ask", "--storage", "sqlite:///own file.db"]
    assert next_command(terminal(*words).out)[-2:] == words[-2:]


@pytest.mark.parametrize("address", ["ada:geheim@host/db", "postgresql+psycopg://ada:x@1:geheim@127.0.0.1:1a/x"])
def test_a_password_in_what_is_no_address_is_not_shown(terminal, address):
    shown = terminal("show", "--storage", address, code=2)
    assert "must be a database's address" in shown.err
    assert "geheim" not in shown.out + shown.err


def test_a_password_is_not_repeated():
    assert "geheim" not in study_options("postgresql+psycopg://me@host/db?password=geheim", None)
    assert "geheim" not in study_options("postgresql+psycopg://me:geheim@host/db", None)
