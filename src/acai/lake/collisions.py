"""A path that would be a file and a directory at once: `/a` beside `/a/b`.

Nobody could write such a set to a disk, so none is made. Two trees that are each free of it
can make one that is not when they are put together; then only what one adds to the other is
looked at, as long as that is little.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice

from acai.lake import tree
from acai.lake.tree.read import NodeReader, covering
from acai.model import paths
from acai.model.errors import PathConflict

_BATCH = 512
_FEW = 16_384  # additions that are looked up one by one; above, reading the whole tree is cheaper


def checked(stream: Iterable[tuple[str, tree.Entry]]) -> Iterator[tuple[str, tree.Entry]]:
    """The sorted stream itself; raises PathConflict at a collision in it."""
    open_names: list[str] = []  # each begins with the one before it, and the path with all
    for path, entry in stream:
        while open_names and not path.startswith(open_names[-1]):
            open_names.pop()
        for name in open_names:
            if path[len(name)] == "/":
                raise collision(name, path)
        open_names.append(path)
        yield path, entry


def check(store: tree.ChunkStore, free: tree.Root, root: tree.Root) -> None:
    """Raise PathConflict for a collision in `root`, given a tree that is free of them."""
    if free.id == root.id:
        return
    if 2 * free.file_count < root.file_count:
        return _check_all(store, root)
    added = (c.path for c in tree.diff(store, free, root) if c.before is None)
    seen = 0
    while batch := list(islice(added, _BATCH)):
        _check_some(store, root, batch)
        seen += len(batch)
        if seen > _FEW:
            return _check_all(store, root)
    return None


def collision(file: str, under: str) -> PathConflict:
    return PathConflict(
        f"{file} would be a file and a directory at once, because of {under};"
        " leave one of the two out",
        path=file,
        under=under,
    )


def _check_all(store: tree.ChunkStore, root: tree.Root) -> None:
    for _ in checked(tree.iterate(store, root)):
        pass


def _check_some(store: tree.ChunkStore, root: tree.Root, added: list[str]) -> None:
    above = {directory[:-1]: path for path in added for directory in paths.ancestors(path)[1:]}
    for held in tree.get(store, root, above):
        raise collision(held, above[held])
    reader = NodeReader(store)
    visits = covering(reader, root, 0, sorted(path + "/" for path in added))
    for node, (_, prefixes) in zip(reader.read([leaf for leaf, _ in visits]), visits, strict=True):
        for prefix in prefixes:
            at = bisect_left(node.keys, prefix)
            if at < len(node.keys) and node.keys[at].startswith(prefix):
                raise collision(prefix[:-1], node.keys[at])
