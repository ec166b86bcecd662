"""Whole transfers, as the client asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import fspath

from acai.client.reading import Content
from acai.client.transfer.calls import TransferCalls
from acai.client.transfer.content_types import content_type
from acai.client.transfer.download import Downloading
from acai.client.transfer.patience import Patience
from acai.client.transfer.progress import Meter
from acai.client.transfer.resume import resume_key, sole_use
from acai.client.transfer.sources import Local, Source, plan_sources
from acai.client.transfer.targets import Target, Wanted
from acai.client.transfer.upload import Uploading
from acai.client.transfer.values import Downloaded, OnNote, OnProgress, Uploaded
from acai.client.transport import Session
from acai.model.errors import InvalidInput, UploadClosed, UploadIncomplete
from acai.model.files import FileVersion
from acai.model.references import parse_spec
from acai.model.sets import ResolvedFile

_PATIENCE = 60.0  # seconds that a server may be away in the middle of a transfer
_BATCH = 5000


def upload(
    session: Session,
    source: Local | Sequence[Local] | Mapping[str, str],
    remote: str | None,
    *,
    skip_unreadable: bool,
    on_progress: OnProgress | None,
    on_note: OnNote | None,
) -> Uploaded:
    """Send local files, going on with an interrupted upload of the same ones."""
    sources = _sources(source, remote)
    key = resume_key(sources)

    def attempt(resume: str | None) -> Uploaded:
        calls = _calls(session, on_note)
        return Uploading(
            calls,
            calls.limits(),
            sources,
            resume_key=resume,
            skip_unreadable=skip_unreadable,
            meter=Meter(on_progress),
            note=on_note,
        ).run()

    with sole_use(key) as alone:
        if alone:
            try:
                return attempt(key)
            except (UploadClosed, UploadIncomplete):
                # Somebody else, as the same user, went on with what we took for ours.
                pass
        return attempt(None)


def download(
    session: Session,
    reference: str,
    local: Local,
    *,
    force: bool,
    on_progress: OnProgress | None,
    on_note: OnNote | None,
) -> Downloaded:
    """Fetch what a reference names."""
    spec = parse_spec(reference)
    calls = _calls(session, on_note)
    return Downloading(
        calls,
        calls.limits(),
        _pages(calls, str(spec)),
        Target(spec, fspath(local)),
        force=force,
        meter=Meter(on_progress),
    ).run()


def copy(session: Session, pairs: Sequence[tuple[ResolvedFile | FileVersion, str]]) -> str:
    """New versions with content that the project has; returns the upload's id."""
    calls = _calls(session, None)
    opened = calls.open(None)
    for start in range(0, len(pairs), _BATCH):
        announced = [
            {
                "path": target,
                "size": file.size,
                "sha256": file.hash,
                "content_type": content_type(target),
            }
            for file, target in pairs[start : start + _BATCH]
        ]
        calls.announce(opened.id, announced)
    calls.commit(opened.id, len(pairs))
    return opened.id


def content(session: Session, file: ResolvedFile) -> Content:
    return Content(_calls(session, None), file)


def _calls(session: Session, on_note: OnNote | None) -> TransferCalls:
    return TransferCalls(session, Patience(_PATIENCE, note=on_note))


def _pages(calls: TransferCalls, spec: str) -> Iterator[list[Wanted]]:
    cursor: str | None = None
    while True:
        items, cursor = calls.resolve(spec, cursor)
        yield items
        if cursor is None:
            return


def _sources(
    source: Local | Sequence[Local] | Mapping[str, str], remote: str | None
) -> list[Source]:
    if isinstance(source, Mapping):
        if remote is not None:
            raise InvalidInput("a mapping names every target; leave out the second argument")
        return [one for local, target in source.items() for one in plan_sources([local], target)]
    if remote is None:
        raise InvalidInput("say where to, such as upload('dir/', '/data/')")
    many = [source] if isinstance(source, str) or not isinstance(source, Sequence) else source
    return plan_sources(many, remote)
