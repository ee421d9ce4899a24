"""Trials, their history, and the events a study is made of."""

from allweather._utils.tables import read_csv, read_table, rows_of
from allweather.trials.events import Event
from allweather.trials.history import History
from allweather.trials.reported_values import outcomes
from allweather.trials.trial import Row, State, Trial, plain

__all__ = ["Event", "History", "Row", "State", "Trial", "outcomes", "plain", "read_csv", "read_table", "rows_of"]
