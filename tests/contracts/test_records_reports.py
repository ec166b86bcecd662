"""What jobs printed on their way, read for many of them at once: the same on each database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert, select

from acai.model.identity import Role
from acai.model.ids import ProjectId, UserId
from acai.stores.records import identity
from acai.stores.records import jobs as job_records
from acai.stores.records import templates as records
from acai.stores.records.database import PLATFORM, Database
from acai.stores.records.scope import mine, this_project
from acai.stores.records.tables_jobs import jobs

NOW = datetime(2026, 3, 4, 5, 6, 7, 250_000, tzinfo=UTC)


@pytest.fixture
def home(database: Database) -> tuple[ProjectId, UserId]:
    with database.write(PLATFORM) as tx:
        project = identity.add_project(tx, "vision", NOW)[0]
        return project, identity.add_user(
            tx, project=project, name="ann", role=Role.MEMBER, now=NOW
        )[0]


def add_job(database: Database, home: tuple[ProjectId, UserId], name: str) -> int:
    project, user = home
    with database.write(project) as tx:
        tx.execute(
            insert(jobs).values(
                project_id=this_project(),
                public_id=f"job-{name}",
                user_id=user,
                status="finished",
                command="true",
                submitted_at=NOW,
            )
        )
        found = tx.execute(select(jobs.c.id).where(mine(jobs), jobs.c.public_id == f"job-{name}"))
        return int(found.scalar_one())


def test_reports_of_many_jobs(database: Database, home: tuple[ProjectId, UserId]) -> None:
    long, short, other = (add_job(database, home, name) for name in ("long", "short", "other"))
    with database.write(home[0]) as tx:
        curve = [(float(n), NOW + timedelta(seconds=n / 2)) for n in range(1, 1001)]
        job_records.add_points(tx, long, {"epochs": curve, "loss": curve[:7]})
        job_records.add_points(tx, short, {"epochs": curve[:3]})
    with database.read(home[0]) as tx:
        found = records.reports(tx, [long, short, other], ["epochs", "trees"])
    assert set(found) == {long, short} and set(found[long]) == {"epochs"}
    far = [value for value, _ in found[long]["epochs"]]
    assert far == [1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1000], "3 is another's last"
    assert [value for value, _ in found[short]["epochs"]] == [1, 2, 3]
    times = [when for _, when in found[short]["epochs"]]
    assert [when - times[0] for when in times] == pytest.approx([0, 0.5, 1.0])


def test_nothing_is_asked_where_nothing_can_be_found(
    database: Database, home: tuple[ProjectId, UserId]
) -> None:
    job = add_job(database, home, "silent")
    with database.read(home[0]) as tx:
        assert records.reports(tx, [], ["epochs"]) == {}
        assert records.reports(tx, [job], []) == {}
        assert records.reports(tx, [job], ["epochs"]) == {}


def test_another_projects_jobs_say_nothing(
    database: Database, home: tuple[ProjectId, UserId]
) -> None:
    job = add_job(database, home, "theirs")
    with database.write(home[0]) as tx:
        job_records.add_points(tx, job, {"epochs": [(1.0, NOW)]})
    with database.write(PLATFORM) as tx:
        elsewhere = identity.add_project(tx, "speech", NOW)[0]
    with database.read(elsewhere) as tx:
        assert records.reports(tx, [job], ["epochs"]) == {}
