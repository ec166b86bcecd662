"""Alembic's entry: run on the connection, and in the transaction, that `migrate` holds."""

from alembic import context

import acai.stores.records.tables_jobs
import acai.stores.records.tables_lake
import acai.stores.records.tables_meta  # noqa: F401  (all three add their tables)
from acai.stores.records.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=False,
    transactional_ddl=True,
)
context.run_migrations()
