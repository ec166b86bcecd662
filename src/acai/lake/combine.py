"""Several sources made into one tree, by the rules of building sets.

| what comes later | against what came before, where they disagree |
|---|---|
| a file that is named | replaces it |
| a directory of latest versions | replaces what sets gave; against a named file an error |
| a set, or a part of one | an error |

A disagreement that a still later source replaces anyway is none. With `prefer_last` every
later source replaces. The rules know nothing of databases: the trees lie behind the chunk port,
and what the lake holds is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from acai.lake import collisions, tree
from acai.model.errors import PathConflict
from acai.model.paths import is_under
from acai.model.references import FileRef

_BATCH = 512

Latest = Callable[[Collection[str]], Mapping[str, tree.Entry]]


@dataclass(frozen=True, kw_only=True)
class FromSet:
    """What a set version holds under a directory; `/` for all of it."""

    label: str
    root: tree.Root
    directory: str


@dataclass(frozen=True, kw_only=True)
class FromDirectory:
    """Latest versions of what lies under a directory of the lake; never empty."""

    label: str
    directory: str
    files: Callable[[], Iterator[tuple[str, tree.Entry]]]  # sorted by path


@dataclass(frozen=True, kw_only=True)
class FromFile:
    """One file version, named as such."""

    label: str
    path: str
    entry: tree.Entry


Source = FromSet | FromDirectory | FromFile


def combine(
    store: tree.ChunkStore, sources: Sequence[Source], *, prefer_last: bool, latest: Latest
) -> tree.Root:
    """The tree of all sources. `latest` gives the lake's visible versions of some paths.

    Raises PathConflict for a disagreement, naming the path, both versions and both sources;
    and for a path that would be a file and a directory at once.
    """
    work = _Combination(store, sources, prefer_last, latest)
    position = 0
    for kind, group in groupby(sources, key=type):
        run = list(group)
        work.add(kind, position, run)
        position += len(run)
    collisions.check(store, work.free, work.current)
    return work.current


class _Combination:
    """The sources up to one of them, put together."""

    def __init__(
        self, store: tree.ChunkStore, sources: Sequence[Source], prefer_last: bool, latest: Latest
    ) -> None:
        self.current = tree.EMPTY
        self.free = tree.EMPTY  # the largest tree so far that is surely free of collisions
        self._store = store
        self._sources = sources
        self._prefer_last = prefer_last
        self._latest = latest
        self._named: dict[str, FromFile] = {}

    def add(self, kind: type[Source], position: int, run: Sequence[Source]) -> None:
        """Add sources of one kind, the first of which stands at `position`."""
        if kind is FromSet:
            self._add_sets(position, [one for one in run if isinstance(one, FromSet)])
        elif kind is FromFile:
            self._add_files([one for one in run if isinstance(one, FromFile)])
        else:
            for offset, one in enumerate(run):
                assert isinstance(one, FromDirectory)
                self._add_directory(position + offset, one)

    def _add_sets(self, position: int, run: Sequence[FromSet]) -> None:
        parts = [self._part(one) for one in run]
        self._note_free(*parts)
        judge = _Judge(self._sources[position + len(run) :], self._latest)

        def label(path: str, claim: tree.Claim) -> str:
            if claim.source == 0:
                return self._origin(position, path, claim.entry)
            return run[claim.source - 1].label

        def on_conflict(found: tree.Conflict) -> None:
            if not self._prefer_last:
                judge.consider(
                    _Dispute(
                        path=found.path,
                        earlier=found.earlier.entry,
                        later=found.later.entry,
                        labels=lambda: (
                            label(found.path, found.earlier),
                            label(found.path, found.later),
                        ),
                    )
                )

        self.current = tree.merge(self._store, [self.current, *parts], on_conflict)
        judge.decide()

    def _add_files(self, run: Sequence[FromFile]) -> None:
        puts = {one.path: one.entry for one in run}
        self._named.update((one.path, one) for one in run)
        self.current = tree.edit(self._store, self.current, puts)

    def _add_directory(self, position: int, source: FromDirectory) -> None:
        if not self._prefer_last:
            self._compare_with_named(position, source)
        if self.current == tree.EMPTY:
            self.current = tree.build(self._store, collisions.checked(source.files()))
            self._note_free(self.current)
        else:
            self.current = tree.apply(self._store, self.current, source.files())

    def _compare_with_named(self, position: int, source: FromDirectory) -> None:
        under = sorted(path for path in self._named if is_under(path, source.directory))
        judge = _Judge(self._sources[position + 1 :], self._latest)
        for path, entry in sorted(self._latest(under).items()):
            named = self._named[path]
            if entry != named.entry:
                judge.consider(
                    _Dispute(
                        path=path,
                        earlier=named.entry,
                        later=entry,
                        labels=partial(_pair, named.label, source.label),
                    )
                )
        judge.decide()

    def _part(self, source: FromSet) -> tree.Root:
        if source.directory == "/":
            return source.root
        inside = tree.totals(self._store, source.root, source.directory)
        if inside.file_count == source.root.file_count:
            return source.root
        stream = tree.iterate(self._store, source.root, prefix=source.directory)
        return tree.build(self._store, stream)

    def _note_free(self, *roots: tree.Root) -> None:
        self.free = max([self.free, *roots], key=lambda root: root.file_count)

    def _origin(self, before: int, path: str, entry: tree.Entry) -> str:
        """Which of the sources up to a position gave the entry at a path."""
        for one in reversed(self._sources[:before]):
            if isinstance(one, FromFile):
                held = one.entry if one.path == path else None
            elif not path.startswith(one.directory):
                held = None
            elif isinstance(one, FromDirectory):
                held = self._latest([path]).get(path)
            else:
                held = tree.get(self._store, one.root, [path]).get(path)
            if held == entry:
                return one.label
        return self._sources[0].label


@dataclass(frozen=True, kw_only=True)
class _Dispute:
    path: str
    earlier: tree.Entry
    later: tree.Entry
    labels: Callable[[], tuple[str, str]]  # of both sources; found out when it comes to an error

    def error(self) -> PathConflict:
        versions = [self.earlier.version, self.later.version]
        first, last = self.labels()
        chosen = FileRef(path=self.path, version=self.later.version)
        return PathConflict(
            f"{self.path} is version {versions[0]} in {first} but version {versions[1]} in"
            f" {last}; name the one you want after them, such as '{chosen}', or add"
            " `--prefer last`",
            path=self.path,
            versions=versions,
            sources=[first, last],
        )


def _pair(first: str, last: str) -> tuple[str, str]:
    return first, last


class _Judge:
    """Lets pass the disputes that a later source settles, and raises the first other one."""

    def __init__(self, later: Sequence[Source], latest: Latest) -> None:
        self._named = {one.path for one in later if isinstance(one, FromFile)}
        self._directories = [one.directory for one in later if isinstance(one, FromDirectory)]
        self._latest = latest
        self._open: list[_Dispute] = []

    def consider(self, dispute: _Dispute) -> None:
        if dispute.path in self._named:
            return
        self._open.append(dispute)
        covered = any(is_under(dispute.path, directory) for directory in self._directories)
        if not covered or len(self._open) >= _BATCH:
            self.decide()

    def decide(self) -> None:
        if not self._open:
            return
        covered = [
            one.path
            for one in self._open
            if any(is_under(one.path, directory) for directory in self._directories)
        ]
        settled = self._latest(covered) if covered else {}
        for one in self._open:
            if one.path not in settled:
                raise one.error()
        self._open = []
