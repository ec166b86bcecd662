"""Whose job starts next: a pure decision over queues, limits and what is free.

One queue for each (project, user), first in first out within a priority. Queues take turns: the
one served longest ago is next, so that a thousand jobs of one user delay another's first by no
more than one job. A queue whose user has as many active jobs as the limit allows, or whose head
does not fit, passes its turn; but a head that has been passed over for longer than `patience`
holds what it needs: nothing else starts until it fits, or small jobs would keep a large one
waiting for ever.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Key = tuple[int, int]  # project, user


@dataclass(frozen=True, kw_only=True)
class Queue:
    key: Key
    rank: int  # the priority of its head; 0 comes first
    served: int  # the turn in which it was last served; 0 for never
    active: int
    limit: int
    least_cpu: float  # of any of its jobs, and the least memory: what is less is no use to it
    least_memory: int
    waited: float  # seconds since its oldest job was queued


@dataclass(frozen=True, kw_only=True)
class Candidate:
    job: int
    key: Key
    rank: int
    cpu: float
    memory: int
    gpu: float
    waited: float  # seconds since it was queued


@dataclass(frozen=True, kw_only=True)
class Free:
    cpu: float
    memory: int
    gpu: float

    def fits(self, one: Candidate) -> bool:
        return (
            one.cpu <= self.cpu + _CPU_ROUNDING
            and one.memory <= self.memory
            and one.gpu <= self.gpu + _CPU_ROUNDING
        )

    def serves(self, queue: Queue) -> bool:
        """Whether any job of a queue can fit."""
        return queue.least_cpu <= self.cpu + _CPU_ROUNDING and queue.least_memory <= self.memory

    def without(self, one: Candidate) -> Free:
        return Free(cpu=self.cpu - one.cpu, memory=self.memory - one.memory, gpu=self.gpu - one.gpu)


_CPU_ROUNDING = 1e-6


def choose(
    queues: Sequence[Queue],
    heads: Callable[[Key, int], Sequence[Candidate]],
    free: Free,
    *,
    patience: float,
    most: int,
) -> list[Candidate]:
    """The jobs to start now, in order; at most `most`.

    `heads(key, n)` gives the first n jobs of a queue; it is asked only of queues whose turn
    comes, so that ten thousand waiting jobs cost no more than the few that may start.
    """
    turn = max((queue.served for queue in queues), default=0)
    waiting: list[tuple[int, int, Key]] = []
    by_key = {queue.key: queue for queue in queues}
    room: dict[Key, int] = {}
    for queue in queues:
        if queue.active < queue.limit:
            room[queue.key] = queue.limit - queue.active
            waiting.append((queue.rank, queue.served, queue.key))
    heapq.heapify(waiting)
    fetched: dict[Key, list[Candidate]] = {}
    chosen: list[Candidate] = []
    while waiting and len(chosen) < most:
        _, _, key = heapq.heappop(waiting)
        if key not in fetched:
            if not free.serves(by_key[key]):
                if by_key[key].waited > patience:
                    break
                continue
            fetched[key] = list(reversed(heads(key, min(room[key], most))))
        if not fetched[key]:
            continue
        head = fetched[key][-1]
        if not free.fits(head):
            if head.waited > patience:
                break
            continue
        fetched[key].pop()
        chosen.append(head)
        free = free.without(head)
        turn += 1
        room[key] -= 1
        if room[key] > 0 and fetched[key]:
            heapq.heappush(waiting, (fetched[key][-1].rank, turn, key))
    return chosen
