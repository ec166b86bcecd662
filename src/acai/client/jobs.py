"""Jobs, from Python: run them, watch them, end them, run them again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from acai.client.code import find_code, send_code
from acai.client.decode import decode
from acai.client.files import FilesPart
from acai.client.job_handle import JobHandle
from acai.client.job_options import (
    JobOptions,
    argument_name,
    inputs_of,
    memory_of,
    output_of,
    priority_of,
    seconds_of,
)
from acai.client.sets import SetsPart
from acai.model.commands import placeholders, render
from acai.model.errors import InvalidInput
from acai.model.jobs import (
    ArgumentValue,
    Job,
    JobDetail,
    JobRequest,
    JobState,
    OutputSpec,
    QueueState,
    Series,
    UsageSample,
)
from acai.model.metadata import MetadataValue, value_to_json
from acai.model.references import parse_set_reference

if TYPE_CHECKING:
    from acai.client.transfer.sources import Local
    from acai.client.transfer.values import OnNote, OnProgress

_LONG_POLL = 25.0
_PAGE = 1000
_MOST_POINTS = 10_000  # of a key, in one answer


@dataclass(frozen=True, kw_only=True)
class JobQuota:
    """How many jobs of a user may run at once; without a user, of every user of the project."""

    user: str | None
    jobs: int


class JobsPart(FilesPart, SetsPart):
    def run(
        self,
        command: str,
        *,
        input: str | Sequence[str] | None = None,
        code: Local | None = None,
        output: str | OutputSpec | None = None,
        cpu: float | None = None,
        memory: str | int | None = None,
        gpu: float | None = None,
        args: Mapping[str, ArgumentValue] | None = None,
        env: Mapping[str, str] | None = None,
        requirements: Local | None = None,
        python: str | None = None,
        image: str | None = None,
        name: str | None = None,
        timeout: str | float | timedelta | None = None,
        priority: str | None = None,
        cache: bool | None = None,
        retries: int | None = None,
        description: str | None = None,
        tags: Iterable[str] = (),
        meta: Mapping[str, MetadataValue] | None = None,
        wait: bool = False,
    ) -> JobHandle:
        """Submit a job: run `command` on input sets, with code, and keep what it puts out.

        `{name}` in the command stands for the argument of that name. `code` is a local file or
        directory, which is sent as a set if it changed, or a reference. `output` is `"NAME"`,
        `"NAME=PATH"` or an OutputSpec: what lies under the path (`out/` if not given) becomes
        the next version of the set NAME. `requirements` is a local file. With `wait` it returns
        when the job has ended.
        """
        options = JobOptions(
            command=command,
            input=inputs_of(input),
            code=None if code is None else str(code),
            cpu=cpu,
            memory=None if memory is None else memory_of(memory),
            gpu=gpu,
            args={argument_name(key): value for key, value in (args or {}).items()},
            env=dict(env or {}),
            requirements=None if requirements is None else str(requirements),
            python=python,
            image=image,
            name=name,
            timeout=None if timeout is None else seconds_of(timeout),
            priority=None if priority is None else priority_of(priority),
            cache=cache,
            retries=retries,
            description=description,
            tags=tuple(tags),
            meta=dict(meta or {}),
            **output_of(output),
        )
        job = self.submit(self.prepare_job(options))
        return job.wait() if wait else job

    def run_file(
        self,
        path: Local,
        *,
        args: Mapping[str, ArgumentValue] | None = None,
        wait: bool = False,
    ) -> JobHandle:
        """Submit the job that a YAML file describes, with other arguments where given."""
        from acai.client.job_files import load_job_file

        changes = JobOptions(args={argument_name(k): v for k, v in (args or {}).items()})
        options = changes.over(load_job_file(str(path)))
        job = self.submit(self.prepare_job(options))
        return job.wait() if wait else job

    def prepare_job(
        self,
        options: JobOptions,
        *,
        on_progress: OnProgress | None = None,
        on_note: OnNote | None = None,
    ) -> JobRequest:
        """What can be submitted: with local code sent, and local files read.

        What can be known to be wrong is refused before anything is sent.
        """
        requirements = None
        if options.requirements is not None:
            requirements = _text_of(options.requirements)
        draft = options.request(code=None, requirements=requirements)
        render(draft.command, draft.args)
        for unused in sorted(set(draft.args) - set(placeholders(draft.command))):
            if on_note is not None:
                on_note(f"The command has no {{{unused}}}; the argument is only recorded.")
        if options.code is None:
            return draft
        code = find_code(self, options.code)
        if isinstance(code, Path):
            for one in draft.input:
                self.get_set(parse_set_reference(one))
            code = send_code(self, code, draft.name, on_progress=on_progress, on_note=on_note)
        return options.request(code=code, requirements=requirements)

    def submit(self, request: JobRequest) -> JobHandle:
        """Queue a job whose code, if it has any, is in the lake."""
        body = asdict(request)
        body["meta"] = {key: value_to_json(value) for key, value in request.meta.items()}
        return self._handle(self._session.call("POST", "/jobs", body))

    def job(self, id: str) -> JobHandle:
        return self._handle(self._session.call("GET", _path(id)))

    def job_detail(self, id: str) -> JobDetail:
        """A job with its request, its time line and where the time went."""
        return decode(JobDetail, self._session.call("GET", _path(id)))

    def jobs(
        self,
        *,
        status: str | Sequence[str] | None = None,
        user: str | None = None,
        limit: int | None = None,
    ) -> Iterator[JobHandle]:
        """The project's jobs, newest first; those of `user` (`"me"` is you), in these states."""
        wanted = [status] if isinstance(status, str) else list(status or ())
        for each in wanted:
            if each not in tuple(JobState):
                states = ", ".join(JobState)
                raise InvalidInput(f"{each!r} is not a state of a job; there are {states}")
        query = {"status": wanted or None, "user": user}
        size = _PAGE if limit is None else min(limit, _PAGE)
        found = self._pages(Job, "/jobs", query, size=size)
        return (JobHandle(one, self) for one in islice(found, limit))

    def wait_for_job(
        self, id: str, timeout: float | None = None, *, on_note: OnNote | None = None
    ) -> JobHandle:
        """The job once it has ended, or as it is after `timeout` seconds.

        A server that is away meanwhile is waited for.
        """
        from acai.client.log_stream import PATIENCE
        from acai.client.transfer.patience import Patience

        found = self.job(id)
        patience = Patience(PATIENCE, note=on_note)
        end = None if timeout is None else time.monotonic() + timeout
        while not found.status.ended:
            left = _LONG_POLL if end is None else min(_LONG_POLL, end - time.monotonic())
            if left <= 0:
                break
            found = self._handle(patience.run(partial(self._long_poll, id, left)))
        return found

    def _long_poll(self, id: str, seconds: float) -> Any:
        query = {"timeout": round(seconds, 3)}
        return self._session.call("GET", f"{_path(id)}/wait", query=query)

    def kill_job(self, id: str) -> JobHandle:
        return self._handle(self._session.call("POST", f"{_path(id)}/kill", repeatable=True))

    def rerun_job(
        self,
        id: str,
        *,
        input: str | Sequence[str] | None = None,
        args: Mapping[str, ArgumentValue] | None = None,
        cpu: float | None = None,
        memory: str | int | None = None,
        gpu: float | None = None,
        name: str | None = None,
        cache: bool | None = None,
    ) -> JobHandle:
        """Run a job again: the same code, command and inputs, but for what is given."""
        size = None if memory is None else memory_of(memory)
        changed = {"cpu": cpu, "memory": size, "gpu": gpu}
        given = {key: value for key, value in changed.items() if value is not None}
        resources = {**asdict(self.job_detail(id).request.resources), **given} if given else None
        inputs = inputs_of(input)
        body = {
            "input": None if inputs is None else list(inputs),
            "args": dict(args) if args else None,
            "resources": resources,
            "name": name,
            "cache": cache,
        }
        return self._handle(self._session.call("POST", f"{_path(id)}/rerun", body))

    def job_log(
        self,
        id: str,
        *,
        start: int | None = None,
        tail: int | None = None,
        attempt: int | None = None,
    ) -> bytes:
        """What a job has printed up to now, from a byte on, or the last `tail` lines."""
        return b"".join(self.stream_log(id, start=start, tail=tail, attempt=attempt))

    def stream_log(
        self,
        id: str,
        *,
        start: int | None = None,
        tail: int | None = None,
        attempt: int | None = None,
    ) -> Iterator[bytes]:
        """The same in pieces."""
        query = {"start": start, "tail": tail, "attempt": attempt}
        reply = self._session.reply("GET", f"{_path(id)}/logs", query=query)
        return reply.stream(64 * 1024)

    def follow_log(
        self, id: str, *, tail: int | None = None, on_note: OnNote | None = None
    ) -> Iterator[bytes]:
        """What a job has printed, all or the last `tail` lines, and prints until it has ended.

        A server's restart is waited out.
        """
        from acai.client.log_stream import LogStream

        return iter(LogStream(self._session, quote(id, safe=""), tail=tail, on_note=on_note))

    def job_series(self, id: str, key: str | None = None) -> list[Series]:
        """The numbers that a job has printed as tags, each in order."""
        found = self._some_series(id, key, 0)
        for number, series in enumerate(found):
            points = list(series.points)
            while len(points) % _MOST_POINTS == 0 and points:
                more = self._some_series(id, series.key, points[-1].n)
                if not more or not more[0].points:
                    break
                points += more[0].points
            found[number] = replace(series, points=tuple(points))
        return found

    def _some_series(self, id: str, key: str | None, after: int) -> list[Series]:
        query = {"key": key, "after": after}
        answer = self._session.call("GET", f"{_path(id)}/series", query=query)
        return decode(list[Series], answer["items"])

    def job_usage(self, id: str) -> list[UsageSample]:
        """What a job used, second by second."""
        return decode(list[UsageSample], self._session.call("GET", f"{_path(id)}/usage")["items"])

    def queue(self) -> QueueState:
        """What there is to run jobs on, what of it is free, and how many wait."""
        return decode(QueueState, self._session.call("GET", "/queue"))

    def quotas(self) -> list[JobQuota]:
        """How many jobs may run at once, where that was set."""
        return decode(list[JobQuota], self._session.call("GET", "/quotas")["items"])

    def set_quota(self, jobs: int | None, *, user: str | None = None) -> list[JobQuota]:
        """At most so many jobs of a user at once, or of every user; None is the server's own.

        For a project's admin. Returns all that are set.
        """
        answer = self._session.call("PUT", "/quotas", {"user": user, "jobs": jobs})
        return decode(list[JobQuota], answer["items"])

    def _handle(self, data: Any) -> JobHandle:
        return JobHandle(decode(Job, data), self)


def _path(id: str) -> str:
    return f"/jobs/{quote(id, safe='')}"


def _text_of(requirements: str) -> str:
    try:
        return Path(requirements).expanduser().read_text("utf-8")
    except OSError as error:
        raise InvalidInput(f"{requirements} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{requirements} is not UTF-8 text") from error
