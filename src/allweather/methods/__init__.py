"""Every published method, by name, as a composition of parts with the paper's settings as defaults.

`aw.Study(space, method="drbo-kde")` runs one; `aw.method("wdrbo", radius=0.1)` changes a setting.
"""

from allweather.methods.registry import method, methods

__all__ = ["method", "methods"]
