"""What a study is for, which decides the parts that its user leaves open."""

EVERY_TRIAL = "every-trial"
"""Every trial counts: decisions are carried out for real, and what they lose adds up."""
RECOMMENDATION = "recommendation"
"""Only the recommendation in the end counts: trials are experiments."""
LEGACY = "0.1"
"""The defaults of release 0.1, with which its stored studies resume."""
