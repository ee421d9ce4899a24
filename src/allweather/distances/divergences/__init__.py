"""Divergences `sum p phi(q/p)`, which ask how likely contexts are and not where they lie."""
