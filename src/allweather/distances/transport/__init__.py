"""The Wasserstein distance: what it costs to move one distribution into another."""
