"""Samples of a posterior: sample paths, Fourier features and joint draws."""
