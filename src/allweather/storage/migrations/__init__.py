"""Schema migrations (alembic), applied when a database of an earlier version is opened."""

VERSION = "0001"
"""The schema this library writes."""
