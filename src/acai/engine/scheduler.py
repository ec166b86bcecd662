"""The scheduler: gives jobs their turn, and has their agents started.

A turn is persisted before the launcher is told. Were the server to die between the two, the
monitor finds a job that is launching and that the launcher has never seen, and deals with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from acai.engine.fairness import Candidate, Free, Key, Queue, choose
from acai.engine.lifecycle import LaunchRefused
from acai.engine.transitions import apply
from acai.engine.views import REQUEST
from acai.launchers.base import Launcher, Task
from acai.model.ids import ProjectId
from acai.stores.records import job_queue
from acai.stores.records import jobs as records
from acai.stores.records.database import PLATFORM, Database, Transaction
from acai.stores.records.job_queue import Claim, Claimed

log = logging.getLogger("acai.scheduler")

_AT_ONCE = 64


@dataclass(frozen=True, kw_only=True)
class NewToken:
    """A token for an agent: its text goes to the agent, the rest into the records."""

    text: str
    lookup: str
    hash: str

    def __repr__(self) -> str:
        return f"NewToken({self.lookup})"


class Scheduler:
    def __init__(
        self,
        database: Database,
        launcher: Launcher,
        *,
        default_limit: int,
        patience: float,
        clock: Callable[[], datetime],
        new_token: Callable[[], NewToken],
        server: Callable[[], str],
        changed: Callable[[ProjectId, int], None],
    ) -> None:
        self._database = database
        self._launcher = launcher
        self._default_limit = default_limit
        self._patience = patience
        self._clock = clock
        self._new_token = new_token
        self._server = server
        self._changed = changed

    def act(self) -> None:
        """Start every job whose turn it is. Safe to call at any time, by any server; one that
        agents cannot reach starts nothing."""
        while self._server() and self._round() == _AT_ONCE:
            pass

    def _round(self) -> int:
        with self._database.read(PLATFORM) as tx:
            chosen = self.decide(tx)
        if not chosen:
            return 0
        now = self._clock()
        made = {one.job: self._new_token() for one in chosen}
        claims = [
            Claim(job=job, token_lookup=token.lookup, token_hash=token.hash)
            for job, token in made.items()
        ]
        with self._database.write(PLATFORM) as tx:
            if not job_queue.hold_scheduler(tx):
                return 0
            # What another server started meanwhile may have taken the room: decide again.
            if self._database.dialect == "postgresql":
                still = {one.job for one in self.decide(tx)}
                claims = [one for one in claims if one.job in still]
            claimed = job_queue.claim(tx, claims, now) if claims else []
        self._launch(claimed, {job: token.text for job, token in made.items()})
        return len(claimed)

    def decide(self, tx: Transaction) -> list[Candidate]:
        """The jobs whose turn it is, by what the database says now."""
        capacity = self._launcher.capacity()
        cpu, memory, gpu = job_queue.in_use(tx)
        free = Free(cpu=capacity.cpu - cpu, memory=capacity.memory - memory, gpu=capacity.gpu - gpu)
        if free.cpu <= 0 or free.memory <= 0:
            return []
        now = self._clock()

        def heads(key: Key, most: int) -> Sequence[Candidate]:
            return [
                Candidate(
                    job=row.id,
                    key=key,
                    rank=row.rank,
                    cpu=row.cpu,
                    memory=row.memory,
                    gpu=row.gpu,
                    waited=(now - row.queued_at).total_seconds(),
                )
                for row in job_queue.heads(tx, *key, most)
            ]

        queues = [
            Queue(
                key=(row.project, row.user),
                rank=row.rank,
                served=row.served,
                active=row.active,
                limit=self._default_limit if row.limit is None else row.limit,
                least_cpu=row.least_cpu,
                least_memory=row.least_memory,
                waited=(now - row.oldest).total_seconds(),
            )
            for row in job_queue.queues(tx)
        ]
        return choose(queues, heads, free, patience=self._patience, most=_AT_ONCE)

    def _launch(self, claimed: Sequence[Claimed], tokens: Mapping[int, str]) -> None:
        if not claimed:
            return
        server = self._server()
        tasks = [
            Task(
                handle=job_queue.handle_of(one.public_id, one.attempt),
                job=one.public_id,
                attempt=one.attempt,
                project=one.project_name,
                cpu=one.cpu,
                memory=one.memory,
                gpu=one.gpu,
                image=REQUEST.validate_json(one.request).environment.image,
                token=tokens[one.id],
                server=server,
            )
            for one in claimed
        ]
        refused = self._launcher.submit(tasks)
        for one, task in zip(claimed, tasks, strict=True):
            if task.handle in refused:
                self._refuse(one, str(refused[task.handle]))
            self._changed(one.project, one.id)

    def _refuse(self, one: Claimed, reason: str) -> None:
        log.warning("an agent could not be started", extra={"job": one.public_id, "why": reason})
        event = LaunchRefused(attempt=one.attempt, reason=f"could not be started: {reason}")
        with self._database.write(one.project) as tx:
            apply(tx, records.get(tx, one.id, lock=True), event, self._clock())
