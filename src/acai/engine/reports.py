"""What agents say: where they are, what their programs print and use, and how it ended.

Every message can be repeated. One of an attempt that no longer counts is answered with `stop`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from acai.engine import views
from acai.engine.lifecycle import Ended, Entered
from acai.engine.ports import JobData, Price
from acai.engine.transitions import apply
from acai.model.assignments import (
    Assignment,
    CodePlace,
    Ending,
    EndingAnswer,
    Outcome,
    Phase,
    PrintedTag,
    Report,
    ReportAnswer,
    TagTarget,
)
from acai.model.changes import Tell, series_of, usage_of
from acai.model.commands import argument_text
from acai.model.errors import AcaiError, InvalidInput, Unavailable
from acai.model.identity import Principal
from acai.model.ids import ProjectId
from acai.model.jobs import JobRequest, JobState, Resources
from acai.model.metadata import EntityKind, MetadataValue, validate_user_key, validate_value
from acai.stores.records import jobs as records
from acai.stores.records import metadata
from acai.stores.records.database import Database, Transaction
from acai.stores.records.jobs import JobRow

_MOST_NOTES = 20


class Reports:
    def __init__(
        self,
        database: Database,
        data: JobData,
        *,
        price: Price,
        grace: float,
        heartbeat: float,
        clock: Callable[[], datetime],
        changed: Callable[[ProjectId, int], None],
        tell: Tell,
        wake: Callable[[], None],
    ) -> None:
        self._database = database
        self._data = data
        self._price = price
        self._grace = grace
        self._heartbeat = heartbeat
        self._clock = clock
        self._changed = changed
        self._tell = tell
        self._wake = wake

    def begin(self, caller: Principal, attempt: int) -> Assignment:
        """The agent is there: it gets all that it needs to know."""
        now = self._clock()
        with self._database.write(caller.project) as tx:
            row = _own(tx, caller)
            if _counts(row, caller, attempt):
                records.mark_seen(tx, row.id, now)
                apply(tx, row, Entered(attempt=attempt, phase=Phase.DOWNLOADING), now)
            project = caller.user.project or ""
        self._changed(caller.project, row.id)
        return self._assignment(row, project, stop=not _counts(row, caller, attempt))

    def _assignment(self, row: JobRow, project: str, *, stop: bool) -> Assignment:
        request = views.request_of(row)
        return Assignment(
            job=row.public_id,
            attempt=row.attempt,
            project=project,
            command=row.command,
            args={name: argument_text(value) for name, value in request.args.items()},
            inputs=request.input,
            code=_code_place(request),
            environment=request.environment,
            environment_digest=row.environment_digest or "",
            output=request.output,
            cpu=row.cpu or 0.0,
            memory=row.memory or 0,
            gpu=row.gpu or 0.0,
            timeout=request.timeout,
            env=request.env,
            grace=self._grace,
            heartbeat=self._heartbeat,
            stop=stop,
        )

    def report(self, caller: Principal, report: Report) -> ReportAnswer:
        now = self._clock()
        with self._database.write(caller.project) as tx:
            row = _own(tx, caller)
            if not _counts(row, caller, report.attempt):
                return ReportAnswer(stop=True)
            values: dict[str, Any] = {"seen_at": now}
            notes = _notes(report.malformed_tags, report.notes)
            if notes:
                values["notes"] = _with_notes(row.notes, notes)
            values["tag_count"] = self._take_tags(tx, row, report.tags)
            records.change(tx, row.id, **values)
            samples = [(one.time, one.cpu_seconds, one.memory) for one in report.samples]
            if samples:
                records.add_usage(tx, row.id, samples)
            entered = Entered(attempt=report.attempt, phase=report.phase)
            moved = apply(tx, row, entered, now)
        if moved is not None:
            self._changed(caller.project, row.id)
        if samples:
            self._tell(caller.project, usage_of(row.public_id))
        if report.tags:
            self._tell(caller.project, series_of(row.public_id))
        return ReportAnswer(kill=row.kill_requested_at is not None)

    def _take_tags(self, tx: Transaction, row: JobRow, tags: Sequence[PrintedTag]) -> int:
        """Keep the tags that are new; returns how many have been taken altogether."""
        fresh = sorted((tag for tag in tags if tag.n > row.tag_count), key=lambda tag: tag.n)
        if not fresh:
            return row.tag_count
        points: dict[str, list[tuple[float, datetime]]] = {}
        on_job: dict[str, MetadataValue] = {}
        on_output: dict[str, float | str] = {}
        for tag in fresh:
            if tag.target is TagTarget.OUTPUT:
                on_output[tag.key] = tag.value
                continue
            try:
                on_job[validate_user_key(EntityKind.JOB, tag.key)] = validate_value(
                    tag.value, key=tag.key
                )
            except InvalidInput:  # a key of the platform's own: the line stays in the log
                continue
            if not isinstance(tag.value, str):
                points.setdefault(tag.key, []).append((tag.value, tag.time))
        if on_job:
            metadata.write(tx, EntityKind.JOB, [row.id], on_job)
        records.add_points(tx, row.id, points)
        if on_output:
            records.set_output_meta(tx, row.id, on_output)
        return fresh[-1].n

    def end(self, caller: Principal, ending: Ending) -> EndingAnswer:
        """The last word on an attempt. A set is made of the output, in one transaction with
        the end of the job."""
        with self._database.read(caller.project) as tx:
            row = _own(tx, caller, lock=False)
        if not _counts(row, caller, ending.attempt):
            return EndingAnswer(status=row.status, stop=True)
        request = views.request_of(row)
        if (
            ending.outcome is Outcome.SUCCEEDED
            and ending.upload is not None
            and request.output is not None
        ):
            answer = self._end_with_output(caller, row, ending, request)
        else:
            answer = self._end_plain(caller, ending)
        self._changed(caller.project, row.id)
        self._wake()
        return answer

    def _end_with_output(
        self, caller: Principal, row: JobRow, ending: Ending, request: JobRequest
    ) -> EndingAnswer:
        assert ending.upload is not None and request.output is not None
        made: list[str] = []

        def finish(tx: Transaction, set_id: int, ref: str) -> None:
            current = _own(tx, caller)
            if not _counts(current, caller, ending.attempt):
                raise _Overtaken
            said = records.output_meta(tx, current.id)
            if said:
                values = {key: _metadata_value(value) for key, value in said.items()}
                metadata.write(tx, EntityKind.SET, [set_id], values)
            self._finish(tx, current, ending, output_set_id=set_id)
            made.append(ref)

        with self._database.read(caller.project) as tx:
            sources = list(records.inputs_of(tx, [row.id])[row.id])
        if row.code_set_id is not None and row.code_set_id not in sources:
            sources.append(row.code_set_id)
        try:
            self._data.make_output(
                caller,
                job_id=row.id,
                name=request.output.name,
                upload=ending.upload,
                file_count=ending.file_count,
                sources=sources,
                finish=finish,
            )
        except _Overtaken:
            return EndingAnswer(status=row.status, stop=True)
        except Unavailable:
            raise
        except AcaiError as error:
            failed = Ending(
                attempt=ending.attempt,
                outcome=Outcome.FAILED,
                exit_code=ending.exit_code,
                reason=f"the output could not be kept: {error.message}",
                started=ending.started,
                ended=ending.ended,
                cpu_seconds=ending.cpu_seconds,
                peak_memory=ending.peak_memory,
                notes=ending.notes,
            )
            return self._end_plain(caller, failed)
        return EndingAnswer(status=JobState.FINISHED.value, output=made[0])

    def _end_plain(self, caller: Principal, ending: Ending) -> EndingAnswer:
        with self._database.write(caller.project) as tx:
            row = _own(tx, caller)
            if not _counts(row, caller, ending.attempt):
                return EndingAnswer(status=row.status, stop=True)
            self._finish(tx, row, ending)
            status = records.get(tx, row.id).status
        return EndingAnswer(status=status)

    def _finish(self, tx: Transaction, row: JobRow, ending: Ending, **more: Any) -> None:
        now = self._clock()
        row = self._catch_up(tx, row, ending, now)
        runtime = None
        if ending.started is not None and ending.ended is not None:
            runtime = max((ending.ended - ending.started).total_seconds(), 0.0)
        held = _held(row, runtime, now)
        values: dict[str, Any] = {
            "exit_code": ending.exit_code,
            "runtime": runtime,
            "cpu_seconds": ending.cpu_seconds,
            "peak_memory": ending.peak_memory,
            "cost": (row.cost or 0.0) + self._price(_resources(row), held),
            "seen_at": now,
            **more,
        }
        if ending.notes:
            values["notes"] = _with_notes(row.notes, ending.notes)
        event = Ended(attempt=ending.attempt, outcome=ending.outcome, reason=ending.reason)
        apply(tx, row, event, now, **values)

    def _catch_up(self, tx: Transaction, row: JobRow, ending: Ending, now: datetime) -> JobRow:
        """Enter the phases that a quick program passed before its agent could tell."""
        passed = (
            (Phase.RUNNING, ending.started),
            (Phase.UPLOADING, ending.ended if ending.upload else None),
        )
        for phase, moment in passed:
            if moment is not None:
                at = min(max(moment, row.seen_at or moment), now)
                if apply(tx, row, Entered(attempt=ending.attempt, phase=phase), at) is not None:
                    row = records.get(tx, row.id)
        return row


class _Overtaken(Exception):
    """The attempt stopped counting while its output was being made."""


def _own(tx: Transaction, caller: Principal, *, lock: bool = True) -> JobRow:
    assert caller.job_id is not None
    return records.get(tx, caller.job_id, lock=lock)


def _counts(row: JobRow, caller: Principal, attempt: int) -> bool:
    return row.state.active and row.attempt == attempt == caller.attempt


def _code_place(request: JobRequest) -> CodePlace | None:
    if request.code is None:
        return None
    path = request.code.partition("@")[0]
    return CodePlace(spec=request.code, strip=path[: path.rindex("/") + 1] or "/")


def _resources(row: JobRow) -> Resources:
    return Resources(cpu=row.cpu or 0.0, memory=row.memory or 0, gpu=row.gpu or 0.0)


def _held(row: JobRow, runtime: float | None, now: datetime) -> float:
    """The seconds for which a job is charged: those of its program."""
    if runtime is not None:
        return runtime
    return 0.0 if row.started_at is None else max(now - row.started_at, timedelta()).total_seconds()


def _notes(malformed: int, notes: Sequence[str]) -> list[str]:
    found = list(notes)
    if malformed:
        found.append(f"{malformed} malformed tag line{'s' if malformed > 1 else ''}")
    return found


def _with_notes(known: str, new: Sequence[str]) -> str:
    kept: list[str] = json.loads(known)
    for note in new:
        kind = note.split(" ", 1)[-1] if note[:1].isdigit() else note
        kept = [one for one in kept if one != note and not (one[:1].isdigit() and kind in one)]
        kept.append(note)
    return json.dumps(kept[-_MOST_NOTES:])


def _metadata_value(value: float | str) -> MetadataValue:
    return value if isinstance(value, str) or not value.is_integer() else int(value)
