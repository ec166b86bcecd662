"""The manifest of a set: a sorted map from path to file version, as a tree of chunks.

Chunks are named by their content and cut by it, so that two versions of a set share every
chunk that did not change. `design/set-manifests.md` says why it is as it is.
"""

from acai.lake.tree.build import build
from acai.lake.tree.chunks import BATCH, ID_BYTES, ChunkStore, chunk_id
from acai.lake.tree.cuts import STANDARD, Cuts
from acai.lake.tree.diff import diff
from acai.lake.tree.edit import apply, edit
from acai.lake.tree.merge import merge
from acai.lake.tree.nodes import EMPTY
from acai.lake.tree.read import get, iterate, open_root, reachable, totals
from acai.lake.tree.values import Change, Claim, Conflict, Entry, Root, Totals

__all__ = [
    "BATCH",
    "EMPTY",
    "ID_BYTES",
    "STANDARD",
    "Change",
    "ChunkStore",
    "Claim",
    "Conflict",
    "Cuts",
    "Entry",
    "Root",
    "Totals",
    "apply",
    "build",
    "chunk_id",
    "diff",
    "edit",
    "get",
    "iterate",
    "merge",
    "open_root",
    "reachable",
    "totals",
]
