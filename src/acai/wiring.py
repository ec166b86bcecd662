"""The only place that chooses implementations and joins them into a platform."""

from __future__ import annotations

import math
import tomllib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI
from sqlalchemy import text

from acai.api.app import build_app
from acai.api.services import Services
from acai.engine.changes import Changes
from acai.engine.hints import Hints, job_topic, news_topic, project_topic
from acai.engine.logs import Logs
from acai.engine.loop import Bell, Duty, Loop
from acai.engine.monitor import Monitor
from acai.engine.ports import Price
from acai.engine.registry import Registry
from acai.engine.reports import Reports
from acai.engine.scheduler import NewToken, Scheduler
from acai.identity import tokens
from acai.identity.service import FirstStart, Identity, utc_now
from acai.identity.sessions import Sessions
from acai.lake.files import Files
from acai.lake.job_data import JobData
from acai.lake.metadata import Metadata
from acai.lake.provenance import Provenance
from acai.lake.search import Search
from acai.lake.sets import Sets
from acai.lake.specs import Specs
from acai.lake.sweeper import Sweeper
from acai.lake.uploads import UploadRules, Uploads
from acai.lake.vocabulary import Vocabulary
from acai.launchers.base import Launcher
from acai.launchers.local import LocalLauncher
from acai.model.changes import Tell
from acai.model.errors import InvalidInput, InvalidSetting
from acai.model.files import SharedDirectory
from acai.model.ids import ProjectId
from acai.model.jobs import Resources
from acai.provisioning.pricing import DEFAULT_PRICES, Prices, cost, prices_from
from acai.provisioning.trials import Configuration
from acai.settings import Settings
from acai.stores.objects.base import SigningStore
from acai.stores.objects.local import LocalStore
from acai.stores.objects.opening import open_store
from acai.stores.records import templates as template_records
from acai.stores.records.database import PLATFORM, Database, open_database
from acai.stores.records.migrate import migrate

if TYPE_CHECKING:
    from acai.provisioning.profiler import Profiler
    from acai.provisioning.service import Provisioning

_HEARTBEAT = 5.0  # seconds between an agent's words


class Address:
    """Where agents reach this server; known once it listens."""

    def __init__(self) -> None:
        self.url = ""

    def __call__(self) -> str:
        return self.url


@dataclass(frozen=True, kw_only=True)
class Platform:
    """Everything one server process holds."""

    settings: Settings
    database: Database
    objects: SigningStore
    services: Services
    duties: Sequence[Duty]
    launcher: Launcher
    address: Address

    def app(self) -> FastAPI:
        @asynccontextmanager
        async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
            loop = Loop(self.duties)
            loop.start()
            yield
            self.services.hints.close()
            await loop.stop()

        return build_app(self.services, lifespan)

    def listens_at(self, url: str) -> None:
        """Tell where agents reach this server; jobs are started from now on."""
        self.address.url = url
        self.launcher.prepare()

    def close(self) -> None:
        self.services.hints.close()
        self.launcher.close()
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
    hints = Hints(database)

    def tell(project: ProjectId, word: str) -> None:
        hints.note(news_topic(project), word)

    def database_answers() -> None:
        with database.read(PLATFORM) as tx:
            tx.execute(text("SELECT 1"))

    lake = _lake(settings, database, objects, tell)
    prices = _prices(settings.prices)
    engine = _engine(settings, database, objects, lake.data, prices, hints, tell)
    profile_bell = Bell()

    @cache
    def provisioning() -> Provisioning:
        from acai.provisioning.service import Provisioning  # with numpy, which takes its time

        return Provisioning(
            database,
            engine.registry,
            prices,
            pin=lake.data.pin,
            clock=utc_now,
            wake=profile_bell.ring,
        )

    services = Services(
        settings=settings,
        identity=identity,
        sessions=Sessions(identity.platform_secret("session"), utc_now),
        objects=objects,
        uploads=lake.uploads,
        files=lake.files,
        specs=lake.specs,
        sets=lake.sets,
        provenance=Provenance(database, lake.files),
        metadata=Metadata(database, lake.files, lake.specs, tell),
        search=Search(database, utc_now),
        vocabulary=Vocabulary(database),
        hints=hints,
        registry=engine.registry,
        reports=engine.reports,
        logs=engine.logs,
        changes=Changes(database, utc_now),
        provisioning=provisioning,
        checks={"database": database_answers, "objects": objects.check},
    )
    profiling = _profiling(database, engine.registry, prices, identity)
    return Platform(
        settings=settings,
        database=database,
        objects=objects,
        services=services,
        duties=(
            Duty(name="sweep", interval=settings.sweep_interval, act=lake.sweep),
            Duty(name="schedule", interval=1.0, act=engine.scheduler.act, bell=engine.queue_bell),
            Duty(name="monitor", interval=2.0, act=engine.monitor.act),
            Duty(name="profile", interval=1.0, act=profiling, bell=profile_bell),
        ),
        launcher=engine.launcher,
        address=engine.address,
    )


@dataclass(frozen=True, kw_only=True)
class _Lake:
    files: Files
    specs: Specs
    sets: Sets
    uploads: Uploads
    data: JobData
    sweeper: Sweeper

    def sweep(self) -> None:
        self.sweeper.sweep()
        self.sets.sweep()


def _lake(settings: Settings, database: Database, objects: SigningStore, tell: Tell) -> _Lake:
    lifetime = timedelta(seconds=settings.upload_lifetime)
    url_lifetime = timedelta(seconds=settings.url_lifetime)
    rules = UploadRules(lifetime=lifetime, url_lifetime=url_lifetime)
    files = Files(database, objects, url_lifetime, tell)
    specs = Specs(database, files)
    sets = Sets(database, specs, utc_now, tell)
    uploads = Uploads(database, objects, rules, utc_now, _shared_directory(objects), tell)
    return _Lake(
        files=files,
        specs=specs,
        sets=sets,
        uploads=uploads,
        data=JobData(database, specs, sets, uploads, utc_now, tell),
        sweeper=Sweeper(
            database, objects, lifetime=lifetime, url_lifetime=url_lifetime, clock=utc_now
        ),
    )


@dataclass(frozen=True, kw_only=True)
class _Engine:
    launcher: Launcher
    registry: Registry
    scheduler: Scheduler
    monitor: Monitor
    reports: Reports
    logs: Logs
    queue_bell: Bell
    address: Address


def _engine(
    settings: Settings,
    database: Database,
    objects: SigningStore,
    data: JobData,
    prices: Prices,
    hints: Hints,
    tell: Tell,
) -> _Engine:
    launcher = _launcher(settings)
    queue_bell, address = Bell(), Address()
    logs = Logs(database, objects, hints, utc_now)

    def changed(project: ProjectId, job: int) -> None:
        hints.publish(project_topic(project), job_topic(job))

    def new_token() -> NewToken:
        made = tokens.new_token()
        return NewToken(text=made.text, lookup=made.lookup, hash=made.hash)

    return _Engine(
        launcher=launcher,
        registry=Registry(
            database,
            data,
            launcher,
            default_limit=settings.job_limit,
            clock=utc_now,
            changed=changed,
            wake=queue_bell.ring,
        ),
        scheduler=Scheduler(
            database,
            launcher,
            default_limit=settings.job_limit,
            patience=settings.job_patience,
            clock=utc_now,
            new_token=new_token,
            server=address,
            changed=changed,
        ),
        monitor=Monitor(
            database,
            launcher,
            lease=timedelta(seconds=settings.job_lease),
            archive=logs.archive,
            clock=utc_now,
            changed=changed,
            wake=queue_bell.ring,
        ),
        reports=Reports(
            database,
            data,
            price=_price(prices),
            grace=settings.job_grace,
            heartbeat=_HEARTBEAT,
            clock=utc_now,
            changed=changed,
            tell=tell,
            wake=queue_bell.ring,
        ),
        logs=logs,
        queue_bell=queue_bell,
        address=address,
    )


def _launcher(settings: Settings) -> Launcher:
    return LocalLauncher(
        settings.home / "agents",
        cache_dir=settings.home / "cache",
        cache_size=settings.cache_size,
        server_file=settings.home / "server.lock",
        cpu=settings.job_cpu or None,
        memory=settings.job_memory or None,
        grace=settings.job_grace,
    )


def _profiling(
    database: Database, jobs: Registry, prices: Prices, identity: Identity
) -> Callable[[], None]:
    @cache
    def profiler() -> Profiler:
        from acai.provisioning.profiler import Profiler

        return Profiler(database, jobs, prices, acting_for=identity.acting_for, clock=utc_now)

    def act() -> None:
        with database.read(PLATFORM) as tx:
            if not template_records.profiling(tx):
                return
        profiler().act()

    return act


def _price(prices: Prices) -> Price:
    def price(resources: Resources, seconds: float) -> float:
        found = cost(prices, Configuration.of(resources), seconds)
        return found if math.isfinite(found) else 0.0

    return price


def _prices(file: str) -> Prices:
    if not file:
        return DEFAULT_PRICES
    try:
        table = tomllib.loads(Path(file).expanduser().read_text("utf-8"))
        return prices_from(table)
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"prices: the file {file} cannot be read: {error}") from None
    except InvalidInput as error:
        raise InvalidSetting(f"prices: {file}: {error.message}") from None


def first_start(
    platform: Platform, user_name: str, keep: Callable[[FirstStart], None]
) -> FirstStart | None:
    return platform.services.identity.bootstrap(user_name, keep)


def _shared_directory(store: SigningStore) -> SharedDirectory | None:
    if not isinstance(store, LocalStore):
        return None
    grant = store.grant()
    return SharedDirectory(root=grant.root, word=grant.word)
