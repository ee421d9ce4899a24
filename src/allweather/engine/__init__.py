"""From a history to a decision and to what is believed: the engine, outlooks and recommendations."""

from allweather.engine.check import Check
from allweather.engine.engine import Engine
from allweather.engine.outlook import Outlook
from allweather.engine.recommendation import Recommendation
from allweather.engine.situation import Plan, Situation

__all__ = ["Check", "Engine", "Outlook", "Plan", "Recommendation", "Situation"]
