"""What most programs need, imported once (see `tests.warm`)."""

import allweather.cli
import allweather.dashboard
import allweather.study  # noqa: F401
