"""Acquisitions: from a belief to the function whose maximum is tried next."""

from allweather.acquisition.base import Acquisition, Belief
from allweather.acquisition.context_rules import (
    ChooseOnly,
    ContextRule,
    FromLaw,
    LargestDeviation,
    LargestGain,
    LowestBound,
    MostInfluential,
)
from allweather.acquisition.improvement import ExpectedImprovement
from allweather.acquisition.knowledge_gradient import KnowledgeGradient
from allweather.acquisition.lacing import LacingTail, LacingValue
from allweather.acquisition.mars import MARS
from allweather.acquisition.objective_ucb import ObjectiveUCB
from allweather.acquisition.online_knowledge_gradient import OnlineKnowledgeGradient
from allweather.acquisition.random import Random
from allweather.acquisition.thompson import FourierThompson, Thompson
from allweather.acquisition.ucb import UCB

__all__ = [
    "MARS",
    "UCB",
    "Acquisition",
    "Belief",
    "ChooseOnly",
    "ContextRule",
    "ExpectedImprovement",
    "FourierThompson",
    "FromLaw",
    "KnowledgeGradient",
    "LacingTail",
    "LacingValue",
    "LargestDeviation",
    "LargestGain",
    "LowestBound",
    "MostInfluential",
    "ObjectiveUCB",
    "OnlineKnowledgeGradient",
    "Random",
    "Thompson",
]
