"""The Gaussian process: its recipe, the fit of its hyperparameters, known noise and transforms of outcomes."""
