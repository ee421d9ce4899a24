"""The tables: studies, and the events of each, in order."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text

metadata = MetaData()
studies = Table(
    "studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("created", Float, nullable=False),
    Column("spec", Text, nullable=False),
    Column("checksum", String(16), nullable=False),
)
events = Table(
    "events",
    metadata,
    Column("study", Integer, ForeignKey("studies.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(20), nullable=False),
    Column("trial", Integer, nullable=True),
    Column("at", Float, nullable=False),
    Column("worker", String(200), nullable=False),
    Column("payload", Text, nullable=False),
    Column("checksum", String(16), nullable=False),
    Index("events_of_a_trial", "study", "trial"),
)
