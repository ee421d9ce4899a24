"""What a fitted GP says: its posterior, bound to contexts, and mixtures and transforms of it."""
