"""From a history to a decision: engines, the posterior view, and recommendations."""

from allweather.engine.check import Check
from allweather.engine.engine import Engine
from allweather.engine.plan import Plan, Situation
from allweather.engine.posterior_view import Outlook
from allweather.engine.recommendation import Recommendation

__all__ = ["Check", "Engine", "Outlook", "Plan", "Recommendation", "Situation"]
