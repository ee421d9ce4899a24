"""One codec for parts, spaces and specs: plain data out, checked objects back."""

from allweather.serialization.legacy_repr import space_of
from allweather.serialization.spec import Spec
from allweather.serialization.toml import to_toml

__all__ = ["Spec", "space_of", "to_toml"]
