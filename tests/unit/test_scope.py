"""The scope guard: which statements a project's transaction lets through."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import (
    bindparam,
    column,
    delete,
    exists,
    func,
    insert,
    lateral,
    literal,
    literal_column,
    select,
    text,
    true,
    update,
    values,
)
from sqlalchemy.dialects import postgresql, sqlite

from acai.stores.records.scope import UnscopedStatement, check, mine, this_project

metadata = sa.MetaData()
shelves = sa.Table(
    "shelves",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("project_id", sa.Integer),
    sa.Column("name", sa.String),
)
books = sa.Table(
    "books",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("project_id", sa.Integer),
    sa.Column("shelf_id", sa.Integer),
    sa.Column("title", sa.String),
)
shared = sa.Table("shared", metadata, sa.Column("id", sa.Integer), sa.Column("note", sa.String))

other = books.alias("other")
same_shelf = books.c.shelf_id == shelves.c.id
same_project = books.c.project_id == shelves.c.project_id
unscoped = select(books.c.id)
scoped = select(books.c.id).where(mine(books))
recursive = scoped.cte("walk", recursive=True)
inner = select(shelves).where(mine(shelves)).subquery()

REFUSED = {
    "select": select(books),
    "a value in place of the parameter": select(books).where(books.c.project_id == 5),
    "a parameter of the caller's own": select(books).where(
        books.c.project_id == bindparam("project_id")
    ),
    "another column bound": select(books).where(books.c.id == this_project()),
    "not equal": select(books).where(books.c.project_id != this_project()),
    "under or": select(books).where(mine(books) | (books.c.id == 1)),
    "under not": select(books).where(~(mine(books) & (books.c.id == 1))),
    "in the columns": select(books.c.id, mine(books)),
    "in having": select(books.c.project_id).group_by(books.c.project_id).having(mine(books)),
    "alias": select(other),
    "alias beside the bound table": select(books.c.id, other.c.id).where(mine(books)),
    "alias of an alias": select(other.alias("again")),
    "sampled": select(books.tablesample(5)),
    "cross product": select(books, shelves).where(mine(books)),
    "join": select(books).join(shelves, same_shelf).where(mine(books)),
    "parenthesised join": select(shared.join(books.join(shelves, same_shelf), true())).where(
        mine(shelves)
    ),
    "left join that binds the left side": select(books).select_from(
        books.outerjoin(shelves, same_project & mine(books))
    ),
    "left join that ties the left side to the right": select(books).select_from(
        books.outerjoin(shelves, same_project & mine(shelves))
    ),
    "full join": select(books).select_from(
        books.join(shelves, mine(books) & mine(shelves), full=True)
    ),
    "subquery": select(unscoped.subquery()),
    "subquery of the same table": select(books).where(
        mine(books), books.c.id.in_(select(books.c.id))
    ),
    "subquery that binds outside only": select(books).where(books.c.id.in_(scoped)),
    "not exists that binds the outer table": select(shelves).where(
        ~exists().where(same_shelf, mine(books), mine(shelves))
    ),
    "exists": select(shelves).where(mine(shelves), exists().where(same_shelf)),
    "scalar subquery": select(
        shelves.c.id, select(func.count()).select_from(books).scalar_subquery()
    ).where(mine(shelves)),
    "in order by": select(shared).order_by(select(func.max(books.c.id)).scalar_subquery()),
    "cte": select(unscoped.cte()),
    "cte that nothing reads": select(shared).add_cte(unscoped.cte()),
    "recursive cte, second part": select(
        recursive.union_all(select(books.c.id).join(recursive, books.c.shelf_id == recursive.c.id))
    ),
    "union, second branch": scoped.union_all(select(books.c.id)),
    "union in a subquery": select(scoped.union(unscoped).subquery()),
    "lateral": select(shelves, lateral(unscoped).c.id).where(mine(shelves)),
    "tied to a subquery's column only": select(books).join(
        select(shared.c.id.label("project_id")).subquery("s"),
        books.c.project_id == sa.column("project_id"),
    ),
    "raw SQL": text("SELECT * FROM books"),
    "raw SQL in a condition": select(books).where(mine(books), text("1 = 1")),
    "raw SQL as a column": select(literal_column("(SELECT count(*) FROM books)")),
    "raw SQL as a table": select(text("*")).select_from(text("books")),
    "a table made up on the spot": select(sa.table("books", column("id"))),
    "ddl": sa.DDL("DROP TABLE books"),
    "update": update(books).values(title="x"),
    "update of a row by id": update(books).where(books.c.id == 1).values(title="x"),
    "update under or": update(books).where(mine(books) | (books.c.id == 1)).values(title="x"),
    "update from another table": update(books)
    .where(mine(books), same_shelf)
    .values(title=shelves.c.name),
    "update with a value from another table": update(books)
    .where(mine(books))
    .values(title=shelves.c.name),
    "update with a subquery": update(books)
    .where(mine(books))
    .values(title=select(shelves.c.name).limit(1).scalar_subquery()),
    "update tied to an unscoped cte": update(books)
    .where(mine(books), books.c.id == unscoped.cte("c").c.id)
    .values(title="x"),
    "update that moves a row": update(books).where(mine(books)).values(project_id=7),
    "update of another project, binding another table": update(books)
    .where(mine(shelves), same_shelf)
    .values(title="x"),
    "delete": delete(books),
    "delete using another table": delete(books).where(mine(books), same_shelf),
    "delete by an unscoped subquery": delete(books).where(
        mine(books), books.c.shelf_id.in_(select(shelves.c.id))
    ),
    "insert": insert(books).values(id=1),
    "insert without values": insert(books),
    "insert of a given project": insert(books).values(id=1, project_id=7),
    "insert of several, one elsewhere": insert(books).values(
        [{"id": 1, "project_id": this_project()}, {"id": 2, "project_id": 7}]
    ),
    "insert with an unscoped subquery": insert(books).values(
        project_id=this_project(), title=select(shelves.c.name).limit(1).scalar_subquery()
    ),
    "insert from select without project": insert(books).from_select(
        ["id"], select(shelves.c.id).where(mine(shelves))
    ),
    "insert from an unscoped select": insert(books).from_select(
        ["id", "project_id"], select(shelves.c.id, this_project())
    ),
    "insert from select of a foreign project": insert(books).from_select(
        ["id", "project_id"], select(shelves.c.id, literal(7)).where(mine(shelves))
    ),
    "insert from select of another column": insert(books).from_select(
        ["id", "project_id"],
        select(shelves.c.id, shelves.c.id.label("project_id")).where(mine(shelves)),
    ),
    "insert from a union, second branch": insert(books).from_select(
        ["id", "project_id"],
        select(shelves.c.id, this_project())
        .where(mine(shelves))
        .union(select(shared.c.id, literal(7))),
    ),
    "upsert on another key": sqlite.insert(books)
    .values(id=1, project_id=this_project())
    .on_conflict_do_update(index_elements=["id"], set_={"title": "x"}),
    "upsert that moves a row": postgresql.insert(books)
    .values(id=1, project_id=this_project())
    .on_conflict_do_update(index_elements=["project_id", "id"], set_={"project_id": 7}),
    "upsert with an unscoped value": postgresql.insert(books)
    .values(id=1, project_id=this_project())
    .on_conflict_do_update(
        index_elements=["project_id", "id"],
        set_={"title": select(shelves.c.name).limit(1).scalar_subquery()},
    ),
    "a change inside a cte": select(delete(books).returning(books.c.id).cte()),
}

ALLOWED = {
    "select": select(books).where(mine(books), books.c.id == 1),
    "condition on the left": select(books).where(this_project() == books.c.project_id),
    "several wheres": select(books).where(books.c.id == 1).where(mine(books)),
    "grouped": select(books).where(sa.and_(sa.and_(mine(books), books.c.id > 1), true())),
    "with an or beside": select(books).where(mine(books), (books.c.id == 1) | (books.c.id == 2)),
    "alias": select(other).where(mine(other)),
    "shared table": select(shared),
    "join": select(books).join(shelves, same_shelf & same_project).where(mine(books)),
    "join, bound at the other end": select(books)
    .join(shelves, same_shelf & same_project)
    .where(mine(shelves)),
    "join with the condition in on": select(books).join(
        shelves, same_project & mine(shelves) & same_shelf
    ),
    "a chain of joins": select(books)
    .join(shelves, same_project)
    .join(other, other.c.project_id == shelves.c.project_id)
    .where(mine(other)),
    "left join": select(books)
    .join(shelves, same_shelf & same_project, isouter=True)
    .where(mine(books)),
    "left join, right side bound in on": select(books)
    .join(shelves, same_shelf & mine(shelves), isouter=True)
    .where(mine(books)),
    "cross product": select(books, shelves).where(mine(books), mine(shelves)),
    "subquery": select(scoped.subquery()),
    "join with a subquery": select(books).join(
        inner, (inner.c.id == books.c.shelf_id) & mine(books)
    ),
    "join tied to a bound subquery": select(books).join(
        inner, (books.c.project_id == inner.c.project_id) & mine(inner)
    ),
    "in": select(shelves).where(
        mine(shelves), shelves.c.id.in_(select(books.c.shelf_id).where(mine(books)))
    ),
    "exists, tied to the outer row": select(shelves).where(
        mine(shelves), exists().where(same_shelf, same_project)
    ),
    "not exists": select(shelves).where(
        mine(shelves), ~exists().where(same_shelf, mine(books)).correlate(shelves)
    ),
    "scalar subquery": select(
        shelves.c.id,
        select(func.count()).select_from(books).where(same_shelf, same_project).scalar_subquery(),
    ).where(mine(shelves)),
    "cte": select(scoped.cte()),
    "recursive cte": select(
        recursive.union_all(
            select(books.c.id)
            .join(recursive, books.c.shelf_id == recursive.c.id)
            .where(mine(books))
        )
    ),
    "union": scoped.union_all(select(shelves.c.id).where(mine(shelves))),
    "lateral": select(
        shelves, lateral(select(books.c.id).where(same_shelf, same_project)).c.id
    ).where(mine(shelves)),
    "values": select(values(column("x", sa.Integer), name="v").data([(1,), (2,)])),
    "values as a cte": select(books)
    .join(values(column("x", sa.Integer), name="v").data([(1,)]).cte(), true())
    .where(mine(books)),
    "function as a table": select(func.json_each(literal("[]")).table_valued("value")),
    "count": select(func.count()).select_from(books).where(mine(books)),
    "plain literal": select(literal_column("1"), literal_column("'a b'")).where(true()),
    "for update": select(books).where(mine(books)).with_for_update(),
    "update": update(books).where(mine(books), books.c.id == 1).values(title="x"),
    "update from": update(books)
    .where(mine(books), same_shelf, same_project)
    .values(title=shelves.c.name),
    "update that stays": update(books).where(mine(books)).values(project_id=this_project()),
    "update with a tied subquery": update(books)
    .where(mine(books))
    .values(title=select(shelves.c.name).where(same_shelf, same_project).scalar_subquery()),
    "delete": delete(books).where(mine(books)),
    "delete using": delete(books).where(mine(books), same_shelf, mine(shelves)),
    "insert": insert(books).values(id=1, project_id=this_project()).returning(books.c.id),
    "insert of several": insert(books).values(
        [{"id": 1, "project_id": this_project()}, {"id": 2, "project_id": this_project()}]
    ),
    "insert into a shared table": insert(shared).values(id=1),
    "insert from select": insert(books).from_select(
        ["id", "project_id"], select(shelves.c.id, this_project()).where(mine(shelves))
    ),
    "insert from select, copying": insert(books).from_select(
        ["id", "project_id"], select(shelves.c.id, shelves.c.project_id).where(mine(shelves))
    ),
    "upsert": postgresql.insert(books)
    .values(id=1, project_id=this_project())
    .on_conflict_do_update(index_elements=[books.c.project_id, books.c.id], set_={"title": "x"}),
    "upsert with a condition": sqlite.insert(books)
    .values(id=1, project_id=this_project())
    .on_conflict_do_update(index_elements=["id"], set_={"title": "x"}, where=mine(books)),
    "insert or nothing": sqlite.insert(books)
    .values(id=1, project_id=this_project())
    .on_conflict_do_nothing(),
}


@pytest.mark.parametrize("shape", REFUSED)
def test_refuses(shape: str) -> None:
    with pytest.raises(UnscopedStatement):
        check(REFUSED[shape])


@pytest.mark.parametrize("shape", ALLOWED)
def test_lets_through(shape: str) -> None:
    check(ALLOWED[shape])
