"""The Gaussian process `GP`: the fit of its hyperparameters, known noise and transforms of outcomes."""
