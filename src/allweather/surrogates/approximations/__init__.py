"""Approximations for many outcomes or contexts: inducing points, low-rank roots, grouped contexts."""
