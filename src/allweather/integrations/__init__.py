"""allweather inside other tools: import the one you use, such as `allweather.integrations.optuna`."""
