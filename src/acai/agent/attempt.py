"""One attempt of a job, from the first word with the server to the last."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from acai.agent.cache import BlobCache
from acai.agent.control import Cause, Control
from acai.agent.environment import environment
from acai.agent.limits.approximate import ApproximateConfinement
from acai.agent.limits.base import Confinement
from acai.agent.limits.choose import confine
from acai.agent.outcome import Ended, judge
from acai.agent.output import find_output, send_output
from acai.agent.program import Program
from acai.agent.settings import AgentSettings
from acai.agent.spool import Journal, LogSpool
from acai.agent.tags import TagReader
from acai.agent.talk import Dismissed, GaveUp, Interrupted, Talk
from acai.agent.telling import Teller
from acai.agent.variables import program_variables
from acai.agent.workdir import WorkingDirectory
from acai.client.transfer.workers import Stopped
from acai.model.assignments import Assignment, Ending, Outcome, Phase, PrintedTag, Sample
from acai.model.errors import AcaiError, Unauthenticated
from acai.model.jobs import OutputSpec

_UNLIMITED = 2**50  # bytes
_CUT_SHORT = {
    Cause.KILLED: "killed",
    Cause.TERMINATED: "killed",
    Cause.DISMISSED: "the attempt no longer counts",
}


class Attempt:
    """Use it once: `begin`, `work`, then `settle`; `ending` is then to be sent."""

    def __init__(self, settings: AgentSettings, talk: Talk, control: Control) -> None:
        self._settings = settings
        self._talk = talk
        self._control = control
        self._directory = settings.run_dir / "work"
        self._log = LogSpool(settings.run_dir / "log")
        self._journal = Journal(settings.run_dir / "journal")
        self._tags = TagReader()
        self._teller: Teller | None = None
        # What is known so far: until it began, only that it was told to end.
        self.ending = Ending(
            attempt=settings.attempt,
            outcome=Outcome.KILLED,
            reason=_CUT_SHORT[Cause.TERMINATED],
        )
        self._sending = False

    @property
    def output_unsent(self) -> bool:
        """Whether the program ended well, and what it made is wanted and only here."""
        return self._sending and self.ending.outcome is not Outcome.KILLED

    def begin(self) -> Assignment:
        """Raises Dismissed, GaveUp, Interrupted, or another AcaiError."""
        assignment = self._talk.begin(socket.gethostname(), self._control.interrupt)
        if assignment.stop:
            raise Dismissed("the attempt no longer counts")
        self._teller = Teller(
            self._talk,
            attempt=assignment.attempt,
            heartbeat=assignment.heartbeat,
            log=self._log,
            journal=self._journal,
            on_kill=lambda: self._control.end(Cause.KILLED),
            on_dismiss=lambda: self._control.end(Cause.DISMISSED),
        )
        self._teller.start()
        return assignment

    def work(self, assignment: Assignment) -> None:
        """Do all there is to do. Raises Dismissed, GaveUp; any other failure is the job's."""
        self.ending = replace(self.ending, outcome=Outcome.FAILED, reason=None)
        try:
            self._whole(assignment)
        except Dismissed:
            raise
        except GaveUp:
            if self.output_unsent:
                self._fail(f"the output could not be sent, and is in {self._directory}")
            raise
        except (Interrupted, Stopped):
            self._fail(_CUT_SHORT[self._control.cause or Cause.TERMINATED], Outcome.KILLED)
        except Unauthenticated as error:
            raise Dismissed(error.message) from error
        except AcaiError as error:
            self._fail(error.message)
        except OSError as error:
            named = f" ({error.filename})" if error.filename else ""
            self._fail(f"the agent failed: {error.strerror or error}{named}")
        except Exception as error:  # a fault of ours must not leave a job without an end
            self._fail(f"the agent failed: {type(error).__name__}: {error}")
        if self._control.cause is Cause.DISMISSED:
            raise Dismissed(_CUT_SHORT[Cause.DISMISSED])

    def _fail(self, reason: str, outcome: Outcome = Outcome.FAILED) -> None:
        self.ending = replace(self.ending, outcome=outcome, reason=reason)

    def _whole(self, assignment: Assignment) -> None:
        settings = self._settings
        cache = BlobCache(settings.cache_dir, settings.cache_size)
        place = WorkingDirectory(
            self._directory, cache, self._talk, settings.patience, self._control
        )
        place.fill(assignment)
        output = self._output_directory(place, assignment.output)
        with environment(
            settings.cache_dir / "envs",
            assignment.environment,
            log=self._take_output,
            interrupt=self._control.interrupt,
        ) as python:
            variables = program_variables(
                assignment,
                settings,
                os.environ,
                work=self._directory,
                output=output,
                python=python,
            )
            ended = self._run(assignment, variables)
        self._conclude(assignment, ended)
        if assignment.output is not None and self.ending.outcome is Outcome.SUCCEEDED:
            self._send(output, assignment.output)

    def _output_directory(self, place: WorkingDirectory, output: OutputSpec | None) -> Path:
        """Where a job has no output, what it leaves there is dropped."""
        if output is not None:
            return place.make_output(output.path)
        unused = self._settings.run_dir / "unused"
        unused.mkdir(exist_ok=True)
        return unused

    def _run(self, assignment: Assignment, variables: dict[str, str]) -> Ended:
        assert self._teller is not None
        if self._control.interrupt.is_set():
            raise Interrupted
        self._teller.enter(Phase.RUNNING)
        program = Program(
            self._confinement(assignment),
            self._control,
            timeout=assignment.timeout,
            grace=assignment.grace,
            on_output=self._take_output,
            on_sample=self._take_sample,
        )
        ended = program.run(assignment.command, cwd=self._directory, env=variables)
        self._take_tags(self._tags.end(datetime.now(UTC)))
        return ended

    def _confinement(self, assignment: Assignment) -> Confinement:
        if not self._settings.enforce:
            # Something around the agent limits it; only the tree is to be held together.
            cores = float(os.cpu_count() or 1)
            return ApproximateConfinement(self._settings.handle, cpu=cores, memory=_UNLIMITED)
        made = confine(self._settings.handle, cpu=assignment.cpu, memory=assignment.memory)
        if made.approximate:
            self._note(made.approximate)
        return made

    def _conclude(self, assignment: Assignment, ended: Ended) -> None:
        verdict = judge(ended, memory=assignment.memory, timeout=assignment.timeout)
        self.ending = replace(
            self.ending,
            outcome=verdict.outcome,
            exit_code=verdict.exit_code,
            reason=verdict.reason,
            started=ended.started,
            ended=ended.ended,
            cpu_seconds=ended.cpu_seconds,
            peak_memory=ended.peak_memory,
        )

    def _send(self, directory: Path, output: OutputSpec) -> None:
        assert self._teller is not None
        found = find_output(directory, self._directory, output.to or f"/{output.name}/")
        if not found.sources:
            self._note("the output was empty")
            return
        self._teller.enter(Phase.UPLOADING)
        self._sending = True
        sent = send_output(
            found,
            self._talk,
            resume_key=self._settings.handle,
            patience=self._settings.patience,
            control=self._control,
            note=self._note,
        )
        self._sending = False
        self.ending = replace(self.ending, upload=sent.upload, file_count=sent.file_count)

    def _take_output(self, data: bytes) -> None:
        assert self._teller is not None
        self._log.append(data)
        self._take_tags(self._tags.feed(data, datetime.now(UTC)))
        self._teller.poke()

    def _take_tags(self, tags: list[PrintedTag]) -> None:
        assert self._teller is not None
        if tags:
            self._journal.add_tags(tags)
        self._teller.malformed(self._tags.malformed)

    def _take_sample(self, sample: Sample) -> None:
        assert self._teller is not None
        self._journal.add_sample(sample)
        self._teller.poke()

    def _note(self, text: str) -> None:
        assert self._teller is not None
        self._teller.note(text)

    def settle(self) -> None:
        """Return when log, tags and samples have been told. Raises Dismissed, GaveUp."""
        if self._teller is None:
            return
        if self._log.lost:
            self._note(f"{self._log.lost} bytes of the log were lost: the disk had no room")
        try:
            self._teller.close()
        finally:
            notes = tuple(self._teller.notes)
            self.ending = replace(self.ending, log_size=self._log.size, notes=notes)

    def close(self) -> None:
        if self._teller is None or self._teller.abandon():
            self._log.close()
            self._journal.close()
