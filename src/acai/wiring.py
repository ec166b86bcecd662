"""The only place that chooses implementations and joins them into a platform."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI
from sqlalchemy import text

from acai.api.app import build_app
from acai.api.services import Services
from acai.engine.loop import Duty, Loop
from acai.identity.service import FirstStart, Identity
from acai.settings import Settings
from acai.stores.objects.base import ObjectStore
from acai.stores.objects.opening import open_store
from acai.stores.records.database import PLATFORM, Database, open_database
from acai.stores.records.migrate import migrate


@dataclass(frozen=True, kw_only=True)
class Platform:
    """Everything one server process holds."""

    settings: Settings
    database: Database
    objects: ObjectStore
    services: Services
    duties: Sequence[Duty]

    def app(self) -> FastAPI:
        @asynccontextmanager
        async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
            loop = Loop(self.duties)
            loop.start()
            yield
            await loop.stop()

        return build_app(self.services, lifespan)

    def close(self) -> None:
        self.database.close()


def build(settings: Settings) -> Platform:
    """Open the stores, bring the schema up to date, and join the services."""
    database = open_database(settings.database_url, connections=settings.database_connections)
    migrate(database)
    identity = Identity(database, failure_limit=settings.auth_failures)
    objects = open_store(settings.storage_url, sign_secret=identity.platform_secret("signing"))

    def database_answers() -> None:
        with database.read(PLATFORM) as tx:
            tx.execute(text("SELECT 1"))

    services = Services(
        settings=settings,
        identity=identity,
        checks={"database": database_answers, "objects": objects.check},
    )
    return Platform(
        settings=settings,
        database=database,
        objects=objects,
        services=services,
        duties=(),
    )


def first_start(platform: Platform, user_name: str) -> FirstStart | None:
    return platform.services.identity.bootstrap(user_name)
