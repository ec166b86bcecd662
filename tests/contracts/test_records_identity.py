"""Projects, users and tokens in the database: the same behaviour on each kind of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from acai.identity.service import Identity
from acai.model.errors import AlreadyExists, InvalidInput
from acai.model.identity import Project, Role
from acai.model.ids import ProjectId, UserId
from acai.stores.records import identity as records
from acai.stores.records.database import PLATFORM, Database, open_database
from acai.stores.records.migrate import migrate
from acai.stores.records.scope import UnscopedStatement, mine, this_project
from acai.stores.records.tables import from_microseconds, platform, to_microseconds, tokens, users
from servers.racing import race

NOW = datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC)


def add_project(database: Database, name: str) -> ProjectId:
    with database.write(PLATFORM) as tx:
        return records.add_project(tx, name, NOW)[0]


def add_user(
    database: Database, project: ProjectId | None, name: str, role: Role = Role.MEMBER
) -> UserId:
    with database.write(PLATFORM) as tx:
        return records.add_user(tx, project=project, name=name, role=role, now=NOW)[0]


def names(database: Database, project: ProjectId, after: str = "", limit: int = 999) -> list[str]:
    with database.read(PLATFORM) as tx:
        found = records.list_users(tx, project, after=after, limit=limit)
    return [user.name for user in found]


def at_once(count: int, act: Callable[[int], Any]) -> list[Any]:
    """Run it in so many threads from the same moment; results and errors in their order."""
    gate = threading.Barrier(count)
    results: list[Any] = [None] * count

    def run(number: int) -> None:
        gate.wait()
        try:
            results[number] = act(number)
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def test_a_project_is_found_by_its_name(database: Database) -> None:
    project = add_project(database, "vision")
    with database.read(PLATFORM) as tx:
        assert records.project_named(tx, "vision") == (
            project,
            Project(name="vision", create_time=NOW),
        )
        assert records.project_named(tx, "Vision") is None
        assert records.project_named(tx, "' OR 1=1 --") is None


def test_two_projects_cannot_share_a_name(database: Database) -> None:
    add_project(database, "vision")
    with pytest.raises(AlreadyExists, match="'vision' exists"):
        add_project(database, "vision")
    add_project(database, "Vision")


def test_projects_and_users_are_listed_by_their_bytes_in_pages(database: Database) -> None:
    wanted = ["A", "B.x", "Z", "a", "a-b", "a.b", "a_b", "ab", "b"]
    for name in reversed(wanted):
        home = add_project(database, name)
        add_user(database, home, "x")
    for name in wanted:
        add_user(database, home, f"{name}u")
    ordered = sorted(wanted, key=str.encode)
    found: list[str] = []
    with database.read(PLATFORM) as tx:
        while page := records.list_projects(tx, after=found[-1] if found else "", limit=2):
            assert len(page) <= 2
            found += [project.name for project in page]
    assert found == ordered
    expected = sorted([*(f"{name}u" for name in wanted), "x"], key=str.encode)
    assert names(database, home) == expected
    assert names(database, home, after=expected[3], limit=2) == expected[4:6]


def test_a_user_belongs_to_one_project(database: Database) -> None:
    one, two = add_project(database, "one"), add_project(database, "two")
    mei = add_user(database, one, "mei", Role.ADMIN)
    add_user(database, two, "mei")
    assert names(database, one) == names(database, two) == ["mei"]
    with database.read(PLATFORM) as tx:
        found = records.user_named(tx, one, "mei")
        assert found is not None
        user_id, user = found
        assert (user_id, user.project, user.role, user.create_time) == (mei, "one", Role.ADMIN, NOW)
        assert records.user_named(tx, one, user.id) == found
        assert records.user_named(tx, two, user.id) is None
        assert records.user_named(tx, two, "nobody") is None


def test_a_name_that_is_anothers_id_finds_the_name(database: Database) -> None:
    project = add_project(database, "one")
    add_user(database, project, "mei")
    with database.read(PLATFORM) as tx:
        found = records.user_named(tx, project, "mei")
    assert found is not None
    impostor = add_user(database, project, found[1].id)
    with database.read(PLATFORM) as tx:
        again = records.user_named(tx, project, found[1].id)
    assert again is not None and again[0] == impostor


def test_a_living_name_is_taken_and_a_removed_one_is_free(database: Database) -> None:
    project = add_project(database, "one")
    mei = add_user(database, project, "mei")
    with pytest.raises(AlreadyExists, match="'mei' exists in this project"):
        add_user(database, project, "mei")
    for _ in range(2):
        with database.write(PLATFORM) as tx:
            records.remove_user(tx, mei, NOW)
        assert names(database, project) == []
        with database.read(PLATFORM) as tx:
            assert records.user_named(tx, project, "mei") is None
        mei = add_user(database, project, "mei")
    with database.read(PLATFORM) as tx:
        assert tx.execute(select(func.count()).select_from(users)).scalar() == 3


def test_there_is_one_global_admin_and_it_has_no_project(database: Database) -> None:
    add_user(database, None, "admin", Role.GLOBAL_ADMIN)
    with pytest.raises(AlreadyExists):
        add_user(database, None, "second", Role.GLOBAL_ADMIN)
    project = add_project(database, "one")
    with pytest.raises(AlreadyExists):
        add_user(database, project, "third", Role.GLOBAL_ADMIN)
    with pytest.raises(AlreadyExists):
        add_user(database, None, "fourth", Role.MEMBER)
    assert names(database, project) == []


def test_admins_are_counted_per_project_and_only_the_living(database: Database) -> None:
    one, two = add_project(database, "one"), add_project(database, "two")
    add_user(database, one, "a", Role.ADMIN)
    gone = add_user(database, one, "b", Role.ADMIN)
    add_user(database, one, "c")
    add_user(database, two, "d", Role.ADMIN)
    with database.write(PLATFORM) as tx:
        assert records.count_admins(tx, one) == 2
        records.remove_user(tx, gone, NOW)
        assert records.count_admins(tx, one) == 1
        assert records.count_admins(tx, ProjectId(12345)) == 0


def test_a_token_finds_its_user_until_it_is_revoked(database: Database) -> None:
    project = add_project(database, "one")
    mei = add_user(database, project, "mei")
    with database.write(PLATFORM) as tx:
        records.add_token(tx, mei, "look", "h" * 64, NOW)
    with database.write(PLATFORM) as tx:
        found = records.token_by_lookup(tx, "look")
        assert found is not None
        assert (found.hash, found.user_id, found.project_id) == ("h" * 64, mei, project)
        assert found.user.name == "mei"
        assert records.token_by_lookup(tx, "LOOK") is None
        records.revoke_tokens(tx, mei, NOW)
        assert records.token_by_lookup(tx, "look") is None
        records.add_token(tx, mei, "next", "i" * 64, NOW)
        assert records.token_by_lookup(tx, "next") is not None
        records.remove_user(tx, mei, NOW)
        assert records.token_by_lookup(tx, "next") is None


def test_revoking_touches_no_other_user_and_keeps_the_first_time(database: Database) -> None:
    project = add_project(database, "one")
    mei, omar = add_user(database, project, "mei"), add_user(database, project, "omar")
    with database.write(PLATFORM) as tx:
        records.add_token(tx, mei, "m", "h" * 64, NOW)
        records.add_token(tx, omar, "o", "h" * 64, NOW)
        records.revoke_tokens(tx, mei, NOW)
        records.revoke_tokens(tx, mei, NOW + timedelta(days=1))
        assert records.token_by_lookup(tx, "o") is not None
        revoked = tx.execute(select(tokens.c.revoked_at).where(tokens.c.lookup == "m")).scalar()
    assert revoked == NOW


def test_two_tokens_never_share_a_lookup(database: Database) -> None:
    mei = add_user(database, add_project(database, "one"), "mei")
    with database.write(PLATFORM) as tx:
        records.add_token(tx, mei, "look", "h" * 64, NOW)
    with pytest.raises(IntegrityError), database.write(PLATFORM) as tx:
        records.add_token(tx, mei, "look", "i" * 64, NOW)


def test_times_come_back_to_the_microsecond(database: Database) -> None:
    for moment in (
        NOW,
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
    ):
        assert from_microseconds(to_microseconds(moment)) == moment
    with database.write(PLATFORM) as tx:
        records.add_project(tx, "old", datetime(1969, 12, 31, 23, 59, 59, 1, UTC))
        found = records.project_named(tx, "old")
    assert found is not None and found[1].create_time == datetime(1969, 12, 31, 23, 59, 59, 1, UTC)


def test_a_block_that_raises_leaves_nothing(database: Database) -> None:
    with pytest.raises(RuntimeError), database.write(PLATFORM) as tx:
        records.add_project(tx, "half", NOW)
        raise RuntimeError
    with database.read(PLATFORM) as tx:
        assert records.project_named(tx, "half") is None


def test_a_read_sees_one_moment_and_keeps_nothing(database: Database) -> None:
    with database.read(PLATFORM) as tx:
        assert records.list_projects(tx, after="", limit=9) == []
        add_project(database, "meanwhile")
        assert records.list_projects(tx, after="", limit=9) == []
    with database.read(PLATFORM) as tx:
        assert len(records.list_projects(tx, after="", limit=9)) == 1


@pytest.mark.parametrize("count", [3, 100])
def test_many_rows_are_inserted_and_become_the_projects(database: Database, count: int) -> None:
    one, two = add_project(database, "one"), add_project(database, "two")
    rows = [
        {
            "public_id": f"user-{n}",
            "name": f"n{n:03}\t\\N\n",
            "role": "member",
            "created_at": NOW,
            "removed_at": None,
            "project_id": two,
        }
        for n in range(count)
    ]
    with database.write(one) as tx:
        tx.insert(users, rows)
        tx.insert(users, [])
    assert names(database, two) == []
    assert names(database, one) == [row["name"] for row in rows]
    with pytest.raises(IntegrityError), database.write(one) as tx:
        tx.insert(users, rows)


def test_a_project_sees_and_changes_only_its_own_users(database: Database) -> None:
    one, two = add_project(database, "one"), add_project(database, "two")
    add_user(database, one, "ann")
    add_user(database, two, "bob")
    with database.read(one) as tx:
        assert [row.name for row in tx.execute(select(users).where(mine(users)))] == ["ann"]
        given = {"acai_project": two}
        assert [row.name for row in tx.execute(select(users).where(mine(users)), given)] == ["ann"]
    with database.write(one) as tx:
        tx.execute(update(users).where(mine(users)).values(name="changed"))
        values = {"public_id": "user-x", "role": "member", "created_at": NOW}
        tx.execute(insert(users).values(project_id=this_project(), name="new", **values))
    assert names(database, one) == ["changed", "new"]
    assert names(database, two) == ["bob"]


def test_a_statement_without_its_project_never_runs(database: Database) -> None:
    one = add_project(database, "one")
    add_user(database, one, "ann")
    with database.write(one) as tx:
        for statement in (
            select(users),
            update(users).values(name="x"),
            insert(users).values(name="x"),
            text("DELETE FROM users"),
        ):
            for _ in range(2):  # what was refused is refused again, not remembered as passed
                with pytest.raises(UnscopedStatement):
                    tx.execute(statement)
        with pytest.raises(UnscopedStatement):
            tx.execute(update(users).where(mine(users)), {"project_id": 99})
    assert names(database, one) == ["ann"]


def test_a_value_that_a_database_cannot_hold_is_the_callers_mistake(postgres_url: str) -> None:
    database = open_database(postgres_url)
    migrate(database)
    with pytest.raises(InvalidInput, match="cannot be stored"):
        add_project(database, "a\0b")
    database.close()


def test_one_of_many_makes_the_project(database: Database) -> None:
    results = at_once(6, lambda _number: add_project(database, "same"))
    assert sum(isinstance(result, int) for result in results) == 1
    assert sum(isinstance(result, AlreadyExists) for result in results) == 5


def test_one_of_many_makes_the_user(database: Database) -> None:
    project = add_project(database, "one")
    results = at_once(6, lambda _number: add_user(database, project, "same"))
    assert sum(isinstance(result, int) for result in results) == 1
    assert sum(isinstance(result, AlreadyExists) for result in results) == 5
    assert names(database, project) == ["same"]


def test_of_two_admins_who_remove_each_other_one_stays(database: Database) -> None:
    identity = Identity(database, failure_limit=20)
    made = identity.create_project("one", "ann")
    caller = identity.authenticate(made.admin.token, "x", None)
    identity.create_user(caller, "bob", Role.ADMIN)
    at_once(2, lambda number: identity.remove_user(caller, ("ann", "bob")[number]))
    assert len(names(database, caller.project)) == 1


def test_rotating_at_once_leaves_one_token(database: Database) -> None:
    identity = Identity(database, failure_limit=20)
    made = identity.create_project("one", "ann")
    caller = identity.authenticate(made.admin.token, "x", None)
    results = at_once(5, lambda _number: identity.rotate_token(caller, None))
    with database.read(PLATFORM) as tx:
        alive = select(func.count()).select_from(tokens).where(tokens.c.revoked_at.is_(None))
        assert tx.execute(alive).scalar() == 1
    accepted = 0
    for result in results:
        try:
            identity.authenticate(result.token, "x", None)
            accepted += 1
        except Exception as error:
            assert type(error).__name__ == "Unauthenticated"
    assert accepted == 1


def test_the_platforms_secret_is_the_same_for_all(database: Database, database_url: str) -> None:
    other = open_database(database_url)
    servers = [Identity(database, failure_limit=1), Identity(other, failure_limit=1)]
    found = at_once(6, lambda number: servers[number % 2].platform_secret("signing"))
    other.close()
    assert len(set(found)) == 1
    assert len(found[0]) == 32
    assert servers[0].platform_secret("another") != found[0]


def test_servers_that_start_at_once_make_one_admin_and_share_a_secret(database_url: str) -> None:
    found = race(
        3,
        database_url,
        setup="""
from acai.identity.service import Identity
from acai.stores.records.database import open_database
from acai.stores.records.migrate import migrate
database = open_database(sys.argv[1])
""",
        body="""
migrate(database)
identity = Identity(database, failure_limit=1)
first = identity.bootstrap("dana", lambda made: None)
return [identity.platform_secret("signing").hex(), first and first.admin.token]
""",
    )
    assert len({secret for secret, _ in found}) == 1
    assert sum(token is not None for _, token in found) == 1
    database = open_database(database_url)
    with database.read(PLATFORM) as tx:
        assert tx.execute(select(func.count()).select_from(platform)).scalar() == 2
        assert tx.execute(select(func.count()).select_from(users)).scalar() == 2
    database.close()
