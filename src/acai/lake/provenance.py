"""Provenance: ancestry and descent of sets, ways between them, and who holds a file."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from acai.lake import tree
from acai.lake.files import Files
from acai.lake.specs import find_set, not_in_set, root_of
from acai.lake.tree.nodes import read_nodes
from acai.model.identity import Principal
from acai.model.provenance import (
    Action,
    Direction,
    Edge,
    GraphNode,
    PathBetween,
    Trace,
    TracedSet,
)
from acai.model.references import SetRef, parse_file_reference, parse_set_reference
from acai.model.sets import SetVersion
from acai.stores.records import jobs as job_records
from acai.stores.records import provenance as records
from acai.stores.records.chunks import Chunks
from acai.stores.records.database import Database, Transaction
from acai.stores.records.sets import SetRow

MOST_NODES = 50_000
# From this depth on it is cheaper to fetch the whole closure and to cut it afterwards.
_DEEP = 16
_CANDIDATES = 512
_ACTIONS = {action.value: action for action in Action}


class Provenance:
    def __init__(self, database: Database, files: Files) -> None:
        self._database = database
        self._files = files

    def trace(
        self,
        caller: Principal,
        ref: SetRef,
        *,
        direction: Direction,
        depth: int | None,
        limit: int = MOST_NODES,
    ) -> Trace:
        """What a set comes from, or what came from it, up to `depth` steps and `limit` sets."""
        back = direction is Direction.BACK
        with self._database.read(caller.project) as tx:
            start = find_set(tx, ref)
            if depth is not None and depth <= 1:
                walk = _step(tx, start.id, back, limit if depth else 0)
            else:
                walk = _walk(tx, start.id, back, depth, limit)
            values = records.nodes(tx, walk.depths)
            jobs = _jobs(tx, walk.edges)
        order = sorted(walk.depths, key=lambda id_: (walk.depths[id_], id_))
        return Trace(
            direction=direction,
            nodes=tuple(TracedSet(set=values[id_], depth=walk.depths[id_]) for id_ in order),
            edges=tuple(_edges(walk.edges, values, jobs)),
            complete=walk.complete,
        )

    def graph(
        self, caller: Principal, *, after: int, limit: int
    ) -> Sequence[tuple[int, GraphNode]]:
        """Set versions in the order they were made, with row ids to page by."""
        with self._database.read(caller.project) as tx:
            page = records.node_page(tx, after=after, limit=limit)
            rows = records.edges_into(tx, [row.id for row in page])
            known = {row.id: row.value() for row in page}
            older = {source for source, *_ in rows} - known.keys()
            values = {**known, **records.nodes(tx, older)}
            jobs = _jobs(tx, rows)
        into: dict[int, list[Edge]] = defaultdict(list)
        for (_, target, *_), edge in zip(rows, _edges(rows, values, jobs), strict=True):
            into[target].append(edge)
        return [
            (id_, GraphNode(set=value, sources=tuple(into[id_]))) for id_, value in known.items()
        ]

    def between(self, caller: Principal, one: str, other: str) -> PathBetween:
        """Every way that leads from the older of two sets to the newer."""
        refs = [parse_set_reference(ref) for ref in (one, other)]
        with self._database.read(caller.project) as tx:
            ends = [find_set(tx, ref) for ref in refs]
            first, last = sorted(row.id for row in ends)
            # All these lead to the last; what of them the first leads to lies between.
            ids = records.closure(tx, last, back=True, limit=2**31, depth=None, bound=first)
            rows = records.edges_into(tx, ids)
            depths = _depths(first, rows, back=False)
            if last not in depths:
                return PathBetween(shortest=(), nodes=(), edges=())
            rows = [row for row in rows if row[0] in depths]
            values = records.nodes(tx, depths)
            jobs = _jobs(tx, rows)
        return PathBetween(
            shortest=tuple(values[id_].id for id_ in _shortest(first, last, rows, depths)),
            nodes=tuple(values[id_] for id_ in sorted(values)),
            edges=tuple(_edges(rows, values, jobs)),
        )

    def holding(
        self, caller: Principal, file: str, *, before: int, limit: int
    ) -> Sequence[tuple[int, SetVersion]]:
        """The set versions that hold a file version, newest first, with row ids to page by."""
        ref = parse_file_reference(file)
        found: list[tuple[int, SetVersion]] = []
        with self._database.read(caller.project) as tx:
            chunks = Chunks(tx)
            if ref.set is None:
                version = self._files.row(tx, ref.path, ref.version).version
            else:
                origin = find_set(tx, ref.set)
                entry = tree.get(chunks, root_of(origin), [ref.path]).get(ref.path)
                if entry is None:
                    raise not_in_set(chunks, ref, origin)
                version = entry.version
            search = _PathSearch(chunks, ref.path)
            while len(found) < limit:
                rows = records.around(tx, ref.path, before=before, limit=_CANDIDATES)
                versions = search.versions(rows)
                found += [(row.id, row.value()) for row in rows if versions[row.root] == version]
                if len(rows) < _CANDIDATES:
                    break
                before = rows[-1].id
        return found[:limit]


@dataclass(frozen=True, kw_only=True)
class _Walk:
    depths: Mapping[int, int]  # of all that was reached
    edges: Sequence[records.EdgeRow]  # that were walked
    complete: bool


def _step(tx: Transaction, start: int, back: bool, limit: int) -> _Walk:
    edges = records.edges_at(tx, start, back=back, limit=limit) if limit else []
    far = [source if back else target for source, target, *_ in edges][: max(0, limit - 1)]
    kept = edges[: len(far)]
    return _Walk(
        depths={start: 0, **dict.fromkeys(far, 1)}, edges=kept, complete=len(kept) == len(edges)
    )


def _walk(tx: Transaction, start: int, back: bool, depth: int | None, limit: int) -> _Walk:
    shallow = depth if depth is not None and depth <= _DEEP else None
    # The same set may be met at several depths, and is then several rows.
    most = (limit + 1) * (shallow or 1)
    ids = records.closure(tx, start, back=back, limit=most, depth=shallow, bound=None)
    complete, ids = len(ids) <= limit, ids[:limit]
    found = set(ids)
    edges = [row for row in records.edges_into(tx, ids if back else ids[1:]) if row[0] in found]
    depths = _depths(start, edges, back)
    if depth is not None:
        depths = {id_: steps for id_, steps in depths.items() if steps <= depth}
        edges = [row for row in edges if depths.get(row[1] if back else row[0], depth) < depth]
    return _Walk(depths=depths, edges=edges, complete=complete)


def _depths(start: int, rows: Iterable[records.EdgeRow], back: bool) -> dict[int, int]:
    """Steps from the start to every set that these edges lead to."""
    following: dict[int, list[int]] = defaultdict(list)
    for source, target, *_ in rows:
        near, far = (target, source) if back else (source, target)
        following[near].append(far)
    depths = {start: 0}
    queue = deque([start])
    while queue:
        id_ = queue.popleft()
        for far in following.get(id_, ()):
            if far not in depths:
                depths[far] = depths[id_] + 1
                queue.append(far)
    return depths


def _shortest(
    first: int, last: int, rows: Iterable[records.EdgeRow], depths: Mapping[int, int]
) -> list[int]:
    nearer = {target: source for source, target, *_ in rows if depths[source] + 1 == depths[target]}
    way = [last]
    while way[-1] != first:
        way.append(nearer[way[-1]])
    return way[::-1]


def _jobs(tx: Transaction, rows: Iterable[records.EdgeRow]) -> Mapping[int | None, str | None]:
    """The public ids of the jobs that made these edges."""
    ids = {job for _, _, _, job, _ in rows if job is not None}
    found: dict[int | None, str | None] = {None: None}
    for job, public in (job_records.public_ids(tx, list(ids)) if ids else {}).items():
        found[job] = public
    return found


def _edges(
    rows: Sequence[records.EdgeRow],
    values: Mapping[int, SetVersion],
    jobs: Mapping[int | None, str | None],
) -> list[Edge]:
    times = records.moments(row[4] for row in rows)
    names = {id_: value.id for id_, value in values.items()}
    made, found = Edge.__new__, []
    for source, target, action, job, time in rows:
        edge = made(Edge)
        # Twenty thousand of these at once: by keyword they would take twice the time.
        vars(edge).update(
            source=names[source],
            target=names[target],
            action=_ACTIONS[action],
            job=jobs[job],
            create_time=times[time],
        )
        found.append(edge)
    return found


class _PathSearch:
    """Looks one path up in many trees, level by level, and in what they share only once."""

    def __init__(self, store: tree.ChunkStore, path: str) -> None:
        self._store = store
        self._path = path
        self._next: dict[bytes, bytes | int | None] = {}  # a chunk below, or the version

    def versions(self, rows: Sequence[SetRow]) -> dict[bytes, int | None]:
        """By root: the version that the tree holds at the path, or None."""
        level = [root_of(row) for row in rows]
        while level:
            fresh = list({root.id: root for root in level if root.id not in self._next}.values())
            level = []
            for root, node in zip(fresh, read_nodes(self._store, fresh), strict=True):
                at = bisect_left(node.keys, self._path)
                below = node.roots[at] if node.level and at < len(node.keys) else None
                if below is not None:
                    self._next[root.id] = below.id
                    level.append(below)
                elif at < len(node.keys) and node.keys[at] == self._path:
                    self._next[root.id] = node.entries[at].version
                else:
                    self._next[root.id] = None
        return {row.root: self._follow(row.root) for row in rows}

    def _follow(self, root: bytes) -> int | None:
        found = self._next[root]
        while isinstance(found, bytes):
            found = self._next[found]
        return found
