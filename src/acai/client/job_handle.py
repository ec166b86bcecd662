"""A job in Python: its fields as they were when it was asked for, and what can be done with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from acai.model.jobs import ArgumentValue, Job, JobDetail, Series, UsageSample
from acai.model.metadata import value_from_json
from acai.model.references import SetRef, parse_set_reference
from acai.model.sets import ResolvedFile

if TYPE_CHECKING:
    from acai.client.jobs import JobsPart
    from acai.client.transfer.sources import Local
    from acai.client.transfer.values import Downloaded, OnNote


class OutputSet(str):
    """`NAME:VERSION` of the set that a job made: a text, which can also fetch its files."""

    _lake: JobsPart

    @classmethod
    def of(cls, text: str, lake: JobsPart) -> Self:
        made = cls(text)
        made._lake = lake
        return made

    @property
    def ref(self) -> SetRef:
        return parse_set_reference(self)

    def files(self) -> Iterator[ResolvedFile]:
        return self._lake.set_files(self.ref)

    def download(self, local: Local, *, force: bool = False) -> Downloaded:
        """Fetch its files below a directory, at their lake paths."""
        return self._lake.download(f"@{self}", local, force=force)


class JobHandle(Job):
    """A job's values at one moment. `refresh` gives it as it is now.

    A job ends once: after `wait`, this value holds how it ended.
    """

    _lake: JobsPart
    output: OutputSet | None

    def __init__(self, value: Job, lake: JobsPart) -> None:
        self._lake = lake
        self._take(value)

    def _take(self, value: Job) -> None:
        output = None if value.output is None else OutputSet.of(value.output, self._lake)
        meta = {
            key: value_from_json(item, key=key) if isinstance(item, dict) else item
            for key, item in value.meta.items()
        }
        kept = {name: vars(value)[name] for name in Job.__dataclass_fields__}
        vars(self).update(kept, output=output, meta=meta)

    def __repr__(self) -> str:
        return f"<{self.id} {self.name or ''} {self.status}>".replace("  ", " ")

    def refresh(self) -> JobHandle:
        """The job as it is now."""
        return self._lake.job(self.id)

    def detail(self) -> JobDetail:
        """All that is kept of it: what was asked for, its time line, where the time went."""
        return self._lake.job_detail(self.id)

    def wait(self, timeout: float | None = None) -> JobHandle:
        """The job once it has ended, or as it is after `timeout` seconds."""
        found = self._lake.wait_for_job(self.id, timeout)
        self._take(found)
        return found

    def logs(self, *, tail: int | None = None) -> str:
        """What it has printed up to now, or the last `tail` lines of that."""
        return self._lake.job_log(self.id, tail=tail).decode("utf-8", "replace")

    def follow(self, *, on_note: OnNote | None = None) -> Iterator[str]:
        """The lines that it prints, as they come, until it has ended."""
        pending = b""
        for chunk in self._lake.follow_log(self.id, on_note=on_note):
            *lines, pending = (pending + chunk).split(b"\n")
            yield from (line.decode("utf-8", "replace") for line in lines)
        if pending:
            yield pending.decode("utf-8", "replace")

    def kill(self) -> JobHandle:
        """End it, with all the processes it has started."""
        return self._lake.kill_job(self.id)

    def rerun(
        self,
        *,
        input: str | Sequence[str] | None = None,
        args: Mapping[str, ArgumentValue] | None = None,
        cpu: float | None = None,
        memory: str | int | None = None,
        gpu: float | None = None,
        name: str | None = None,
        cache: bool | None = None,
    ) -> JobHandle:
        """Run it again: the same code, command and inputs, but for what is given."""
        return self._lake.rerun_job(
            self.id,
            input=input,
            args=args,
            cpu=cpu,
            memory=memory,
            gpu=gpu,
            name=name,
            cache=cache,
        )

    def series(self, key: str | None = None) -> list[Series]:
        """The numbers that it has printed as tags, each in order."""
        return self._lake.job_series(self.id, key)

    def usage(self) -> list[UsageSample]:
        """What it used, second by second."""
        return self._lake.job_usage(self.id)
