"""Words between the servers of one PostgreSQL database, over LISTEN and NOTIFY."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from typing import Any

from sqlalchemy import Text, func, literal, select
from sqlalchemy.dialects.postgresql import ARRAY

from acai.model.errors import Unavailable
from acai.stores.records.database import PLATFORM, Database, translated

_CHANNEL = "acai_hints"
_LOOK_UP = 0.5  # seconds between two looks at whether to stop


class Notices:
    """A notice may be lost, and comes to every listener, also to the one who sent it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def send(self, words: Collection[str]) -> None:
        every = func.unnest(literal(list(words), ARRAY(Text)))
        with self._database.write(PLATFORM) as tx:
            tx.execute(select(func.pg_notify(_CHANNEL, every)))

    def listen(self, stopping: threading.Event) -> Iterator[str]:
        """The words that are sent from now on, until `stopping` is set; first an empty one, when
        it hears.

        Raises Unavailable when the connection cannot be had or is lost. It is one of its own,
        not one of those that requests share.
        """
        foreign: type[Exception] = self._database.engine.dialect.loaded_dbapi.Error
        with translated(), self._database.engine.connect() as pooled:
            connection = pooled.execution_options(isolation_level="AUTOCOMMIT")
            raw: Any = connection.connection.driver_connection
            connection.detach()
            connection.exec_driver_sql(f"LISTEN {_CHANNEL}")
            yield ""
            try:
                while not stopping.is_set():
                    for notice in raw.notifies(timeout=_LOOK_UP):
                        yield notice.payload
                        if stopping.is_set():
                            return
            except foreign as error:
                connection.invalidate()
                raise Unavailable("the database no longer sends notices") from error
