"""`make demo`: the platform from its start to a clean stop, in a temporary home.

Every step is a real command, shown with what it prints. The exit code is 0 only if each did what
it should. To show more, add a Step to STEPS.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ACAI = Path(sys.executable).with_name("acai")
START_WITHIN = 30.0
STOP_WITHIN = 20.0


@dataclass(frozen=True, kw_only=True)
class Step:
    says: str
    command: str  # run by the shell in the demo's directory; `acai` is this checkout's
    expects: str = ""  # words that the output must hold


STEPS: tuple[Step, ...] = (
    Step(
        says="The first start made a project, a user with your login name, and signed you in:",
        command="acai whoami",
        expects="default",
    ),
    Step(
        says="Is the machine set up well? What is wrong would come with a remedy:",
        command="acai doctor",
        expects="is ready",
    ),
    Step(
        says="Projects share nothing. Make one; you are its first admin:",
        command="acai project create vision",
        expects="Project vision is made",
    ),
    Step(
        says="The same command reaches any of your projects:",
        command="acai whoami --project vision",
        expects="vision",
    ),
    Step(
        says="A colleague gets a token of their own, shown once and stored only as a hash:",
        command="acai user create mei --project vision",
        expects="User mei is made",
    ),
    Step(
        says="Who is in the project:",
        command="acai user ls --project vision",
        expects="mei",
    ),
    Step(
        says="Now data. The corpus is real: sources of this machine's Python library. Upload it:",
        command="acai file put corpus /corpus/",
        expects="are in /corpus/",
    ),
    Step(says="It is in the lake:", command="acai file ls /corpus/", expects="/corpus/json/"),
    Step(
        says="A set names file versions, and copies nothing:",
        command="acai set create corpus /corpus/",
        expects="Set corpus:1 is made",
    ),
    Step(
        says="Sets of parts of it remember where they came from:",
        command=(
            "acai set create train /corpus/asyncio/@corpus /corpus/email/@corpus"
            " && acai set create validation /corpus/http/@corpus"
        ),
        expects="Set validation:1 is made",
    ),
    Step(
        says="Change a file: every upload is a new version, and the old one stays:",
        command=(
            "echo '# checked' >> corpus/json/scanner.py"
            " && acai file put corpus/json/scanner.py /corpus/json/"
            " && acai file versions /corpus/json/scanner.py"
        ),
        expects="/corpus/json/scanner.py:2",
    ),
    Step(
        says="The set's next version takes the new file and shares all the rest:",
        command=(
            "acai set create corpus @corpus /corpus/json/scanner.py"
            " && acai set diff corpus:1 corpus:2"
        ),
        expects="1 changed",
    ),
    Step(
        says="Say what you know of them:",
        command=(
            "acai meta set set:train language=python quality=0.93 --tag baseline --quiet"
            " && acai meta set set:validation language=python quality=0.58"
        ),
        expects="quality",
    ),
    Step(
        says="And find them by it:",
        command="acai find sets 'language = python and quality > 0.5 order by quality desc'",
        expects="train:1",
    ),
    Step(
        says="The best of all:",
        command="acai find sets 'language = python max quality'",
        expects="train:1",
    ),
    Step(
        says="Where did it come from?",
        command="acai trace train",
        expects="corpus:1",
    ),
    Step(
        says="And what came of the corpus?",
        command="acai trace corpus:1 --forward",
        expects="validation:1",
    ),
    Step(
        says="Get a set back, checked byte by byte:",
        command="acai set get validation out && diff -r out/corpus/http corpus/http && echo same",
        expects="same",
    ),
    Step(
        says="Programs read the same as JSON:",
        command="acai find sets 'tag = baseline' --json",
        expects='"name": "train"',
    ),
)
CORPUS = ("asyncio", "email", "http", "json")


class DemoFailed(Exception):
    """A step did not do what it should."""


def main() -> int:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="acai-demo-") as directory:
        try:
            run(Path(directory))
        except DemoFailed as failure:
            tell(f"The demo failed: {failure}")
            return 1
        except KeyboardInterrupt:
            tell("Interrupted; the temporary home is removed.")
            return 130
    tell(f"Done in {time.monotonic() - started:.0f} seconds; the temporary home is removed.")
    return 0


def run(directory: Path) -> None:
    environment = demo_environment(directory)
    make_corpus(directory / "corpus")
    tell("Start the platform in a temporary home, on a free port:")
    with platform(directory, environment):
        for step in STEPS:
            follow(step, directory, environment)
        tell("Stop it, as Ctrl-C would:")


def make_corpus(target: Path) -> None:
    """Copy a few packages of the standard library: real text, there on every machine."""
    library = Path(sysconfig.get_paths()["stdlib"])
    for name in CORPUS:
        shutil.copytree(
            library / name, target / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
        )


def demo_environment(directory: Path) -> dict[str, str]:
    """This process's environment, with no setting in it but the demo's home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ACAI_")}
    path = f"{ACAI.parent}{os.pathsep}{kept.get('PATH', '')}"
    return {**kept, "PATH": path, "ACAI_HOME": str(directory / "home"), "NO_COLOR": "1"}


@contextmanager
def platform(directory: Path, environment: dict[str, str]) -> Iterator[None]:
    """`acai up` until the block ends; it must then stop by itself, and cleanly."""
    echo("acai up --port 0 &")
    log = directory / "server.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [str(ACAI), "up", "--port", "0", "--log-level", "warning"],
            env=environment,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        show(wait_until_ready(server, log))
        already = len(log.read_text())
        yield
        server.send_signal(signal.SIGINT)
        code = server.wait(timeout=STOP_WITHIN)
        show(log.read_text()[already:])
        if code != 0:
            raise DemoFailed(f"the server exited with {code}")
    except subprocess.TimeoutExpired:
        raise DemoFailed(f"the server did not stop within {STOP_WITHIN:.0f} seconds") from None
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


def wait_until_ready(server: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_WITHIN
    while "acai is ready" not in (said := log.read_text()):
        if server.poll() is not None or time.monotonic() > deadline:
            raise DemoFailed(f"the server did not start: {said.strip()}")
        time.sleep(0.05)
    return said


def follow(step: Step, directory: Path, environment: dict[str, str]) -> None:
    tell(step.says)
    echo(step.command)
    result = subprocess.run(
        ["sh", "-c", step.command],
        env=environment,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    show(result.stdout)
    if result.returncode != 0:
        raise DemoFailed(f"`{step.command}` exited with {result.returncode}")
    if step.expects not in result.stdout:
        raise DemoFailed(f"`{step.command}` did not print {step.expects!r}")


def tell(text: str) -> None:
    sys.stdout.write(f"\n{text}\n")
    sys.stdout.flush()


def echo(command: str) -> None:
    sys.stdout.write(f"  $ {command}\n")
    sys.stdout.flush()


def show(output: str) -> None:
    for line in output.splitlines():
        sys.stdout.write(f"    {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
