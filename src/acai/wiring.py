"""The only place that chooses implementations and joins them into a platform."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from fastapi import FastAPI
from sqlalchemy import text

from acai.api.app import build_app
from acai.api.services import Services
from acai.engine.loop import Duty, Loop
from acai.identity.service import FirstStart, Identity, utc_now
from acai.lake.files import Files
from acai.lake.metadata import Metadata
from acai.lake.provenance import Provenance
from acai.lake.search import Search
from acai.lake.sets import Sets
from acai.lake.specs import Specs
from acai.lake.sweeper import Sweeper
from acai.lake.uploads import UploadRules, Uploads
from acai.model.errors import InvalidSetting
from acai.model.files import SharedDirectory
from acai.settings import Settings
from acai.stores.objects.base import SigningStore
from acai.stores.objects.local import LocalStore
from acai.stores.objects.opening import open_store
from acai.stores.records.database import PLATFORM, Database, open_database
from acai.stores.records.migrate import migrate


@dataclass(frozen=True, kw_only=True)
class Platform:
    """Everything one server process holds."""

    settings: Settings
    database: Database
    objects: SigningStore
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
    if settings.launcher != "local":
        raise InvalidSetting(
            f"this version has no launcher {settings.launcher!r} yet; use --launcher local"
        )
    database = open_database(settings.database_url, connections=settings.database_connections)
    migrate(database)
    identity = Identity(database, failure_limit=settings.auth_failures)
    objects = open_store(settings.storage_url, sign_secret=identity.platform_secret("signing"))

    def database_answers() -> None:
        with database.read(PLATFORM) as tx:
            tx.execute(text("SELECT 1"))

    lifetime = timedelta(seconds=settings.upload_lifetime)
    url_lifetime = timedelta(seconds=settings.url_lifetime)
    rules = UploadRules(lifetime=lifetime, url_lifetime=url_lifetime)
    sweeper = Sweeper(
        database, objects, lifetime=lifetime, url_lifetime=url_lifetime, clock=utc_now
    )
    files = Files(database, objects, url_lifetime)
    specs = Specs(database, files)
    sets = Sets(database, specs, utc_now)
    services = Services(
        settings=settings,
        identity=identity,
        objects=objects,
        uploads=Uploads(database, objects, rules, utc_now, _shared_directory(objects)),
        files=files,
        specs=specs,
        sets=sets,
        provenance=Provenance(database, files),
        metadata=Metadata(database, files, specs),
        search=Search(database, utc_now),
        checks={"database": database_answers, "objects": objects.check},
    )
    return Platform(
        settings=settings,
        database=database,
        objects=objects,
        services=services,
        duties=(Duty(name="sweep", interval=settings.sweep_interval, act=_swept(sweeper, sets)),),
    )


def first_start(
    platform: Platform, user_name: str, keep: Callable[[FirstStart], None]
) -> FirstStart | None:
    return platform.services.identity.bootstrap(user_name, keep)


def _shared_directory(store: SigningStore) -> SharedDirectory | None:
    if not isinstance(store, LocalStore):
        return None
    grant = store.grant()
    return SharedDirectory(root=grant.root, word=grant.word)


def _swept(sweeper: Sweeper, sets: Sets) -> Callable[[], None]:
    def act() -> None:
        sweeper.sweep()
        sets.sweep()

    return act
