"""Tables of results in a terminal of eighty columns."""

import pandas as pd
import pytest

from allweather.cli import papers

WIDE = pd.DataFrame(
    {
        "problem": ["complicated-hartmann", "three-hump-camel"],
        "method": ["minimax-approximation", "gp-ucb"],
        **{f"regret_after_{count}_iterations": [0.123456789, 2.0] for count in range(6)},
        "seeds": [20, 20],
    }
)


@pytest.fixture
def printed(monkeypatch, capsys):
    def of(table):
        monkeypatch.setattr(papers, "console", papers.console.__class__(width=80))
        papers._tabulate(table)
        return capsys.readouterr().out

    return of


def test_a_wide_table_fits_eighty_columns_with_every_number(printed):
    text = printed(WIDE)
    assert max(map(len, text.splitlines())) <= 80
    assert "complicated-hartmann, minimax-approximation\n  regret after 0 iterations 0.1235," in text
    assert text.count("0.1235") == 6
    assert "seeds 20" in text


def test_a_narrow_table_is_a_table(printed):
    text = printed(WIDE[["problem", "seeds"]])
    assert text.startswith("┏")
    assert max(map(len, text.splitlines())) <= 80
