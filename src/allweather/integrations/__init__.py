"""Integrations with other libraries; import the one you use, such as `allweather.integrations.optuna`."""
