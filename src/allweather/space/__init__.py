"""Named variables, spaces of them, and linear constraints on decisions."""

from allweather.space.constraints import LinearConstraint
from allweather.space.space import Box, Row, Space
from allweather.space.variables import Choice, Context, Integer, Real, Value, Variable

__all__ = ["Box", "Choice", "Context", "Integer", "LinearConstraint", "Real", "Row", "Space", "Value", "Variable"]
