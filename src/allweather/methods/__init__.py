"""Every published method, by name, as a composition of parts with the paper's settings as defaults.

`aw.Study(space, method="drbo-kde")` runs one; `aw.method("wdrbo", radius=0.1)` changes a setting.
"""

from allweather.methods import published, subsets
from allweather.methods.registry import method, methods

__all__ = ["method", "methods"]

# Importing a module registers its methods.
_ = (published, subsets)
