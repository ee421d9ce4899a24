"""A study described by a short TOML file, for people who do not write Python."""

from allweather.recipes.described import space_of
from allweather.recipes.kept import Kept
from allweather.recipes.recipe import Recipe
from allweather.recipes.written import to_toml

__all__ = ["Kept", "Recipe", "space_of", "to_toml"]
