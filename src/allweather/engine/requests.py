"""Temporary."""


def propose(engine, history, count, situation, context, same_context=False):
    return engine.propose(history, count, situation, same_context)


def view_posterior(engine, history, situation, objective, caller):
    return engine.outlook(history, situation, objective, caller)


def check_predictions(engine, history, outcome=None):
    return engine.check(history, outcome)
