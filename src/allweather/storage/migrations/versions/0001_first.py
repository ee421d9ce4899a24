"""The first schema: studies and their events."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "studies",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("checksum", sa.String(16), nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("study", sa.Integer, sa.ForeignKey("studies.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("trial", sa.Integer, nullable=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("worker", sa.String(200), nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("checksum", sa.String(16), nullable=False),
    )
    op.create_index("events_of_a_trial", "events", ["study", "trial"])
