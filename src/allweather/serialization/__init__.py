"""One codec for parts, compositions and spaces: plain data out, checked objects back.

A study as plain data is a `study.Spec`. Trials and recommendations have methods: `Trial.to_dict`, `Trial.from_dict`,
`Recommendation.to_dict`.
"""

from typing import TYPE_CHECKING

from allweather._utils.lazy import lazy_names
from allweather.serialization.spaces import decode_space, encode_space
from allweather.serialization.toml import to_toml

if TYPE_CHECKING:
    from allweather.serialization.parts import decode_part, encode_part

__getattr__, __dir__ = lazy_names(__name__, {"parts": "decode_part encode_part"})

__all__ = [
    "decode_part",
    "decode_space",
    "encode_part",
    "encode_space",
    "to_toml",
]
