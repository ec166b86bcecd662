"""A step of the lifecycle, persisted: the job's row and its time line change together."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from acai.engine.lifecycle import Event, Facts, Step, step
from acai.model.jobs import JobState
from acai.stores.records import job_queue
from acai.stores.records import jobs as records
from acai.stores.records.database import Transaction
from acai.stores.records.jobs import JobRow


def facts_of(row: JobRow) -> Facts:
    return Facts(
        state=row.state,
        attempt=row.attempt,
        retries=row.retries,
        kill_requested=row.kill_requested_at is not None,
    )


def apply(tx: Transaction, row: JobRow, event: Event, now: datetime, **values: Any) -> Step | None:
    """Persist what an event makes of a job, together with these columns; None if nothing.

    The row must have been read in this transaction, with its lock.
    """
    done = step(facts_of(row), event)
    if done is None:
        return None
    moved = done.state is not row.state
    changes: dict[str, Any] = {"status": done.state.value, **values}
    if done.kill_requested and row.kill_requested_at is None:
        changes |= {"kill_requested_at": now, "reason": done.reason}
    if done.state is JobState.RUNNING:
        changes.setdefault("started_at", now)
        changes["queue_time"] = (now - row.submitted_at).total_seconds()
    if done.state is JobState.QUEUED:  # another attempt
        changes |= {"queued_at": now, "started_at": None, "kill_requested_at": None}
        records.clear_attempt(tx, row.id)
    if done.state.ended:
        by_whom = row.reason if done.state is JobState.KILLED else None
        changes |= {"ended_at": now, "reason": by_whom or done.reason}
        if row.queue_time is None and "queue_time" not in values:
            changes["queue_time"] = (now - row.submitted_at).total_seconds()
    records.change(tx, row.id, **changes)
    if moved:
        records.add_transition(
            tx, row.id, done.state, now, attempt=done.attempt, reason=done.reason
        )
    if moved and (done.state.ended or done.state is JobState.QUEUED):
        job_queue.revoke_tokens(tx, row.id, row.attempt, now)
    return done
