"""Run by alembic: the connection is handed over, nothing is configured from files."""

from alembic import context

from allweather.storage.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
