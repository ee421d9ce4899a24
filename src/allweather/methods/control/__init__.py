"""Control sets: variables that can be controlled at a cost, and the rules that choose among the sets."""

from allweather.methods.control.control import Control
from allweather.methods.control.information import InformationPerCost
from allweather.methods.control.ledger import Ledger
from allweather.methods.control.rules import (
    BestValue,
    CostAdaptive,
    ExploreThenCommit,
    GainPerCost,
    NearBest,
    Offer,
    Rule,
    ValuePerCost,
)
from allweather.methods.control.sets import ControlSet

__all__ = [
    "BestValue",
    "Control",
    "ControlSet",
    "CostAdaptive",
    "ExploreThenCommit",
    "GainPerCost",
    "InformationPerCost",
    "Ledger",
    "NearBest",
    "Offer",
    "Rule",
    "ValuePerCost",
]
