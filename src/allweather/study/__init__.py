"""Studies: what one is (`Spec`), what happened in it (`StudyLog`, without torch), and what to do next (`Study`)."""

from typing import TYPE_CHECKING

from allweather._utils.lazy import lazy_names
from allweather.study.log import StudyLog
from allweather.study.spec import Spec

if TYPE_CHECKING:
    from allweather.study.study import Study

# The engine needs torch, which reading and reporting do not wait for.
__getattr__, __dir__ = lazy_names(__name__, {"study": "Study"})

__all__ = ["Spec", "Study", "StudyLog"]
