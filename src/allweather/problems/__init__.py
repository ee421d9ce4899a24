"""Test problems of the papers by name: true function, true context law, and what the learner is told."""

from allweather.problems import (
    classics,
    gp_sample,
    hartmann,
    queue,
    robot_push,
    robust_design,
    shift,
    simulators,
    subsets,
    supply,
)
from allweather.problems.base import Problem, problem, problems
from allweather.problems.data import load
from allweather.problems.subset_problem import SubsetProblem

__all__ = ["Problem", "SubsetProblem", "load", "problem", "problems"]

# Importing a module registers its problems.
_ = (classics, gp_sample, hartmann, queue, robot_push, robust_design, shift, simulators, subsets, supply)
