"""Helpers that every layer may use: part registry, tensors, timing, formatting."""
