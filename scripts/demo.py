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
        says="Draw some digits, in the files that MNIST comes in, and upload them:",
        command="python make_data.py data && acai file put data /digits/",
        expects="/digits/train-images-idx3-ubyte.gz:1",
    ),
    Step(
        says="A set names file versions, and copies nothing:",
        command="acai set create digits /digits/",
        expects="Set digits:1 is made",
    ),
    Step(
        says="Train a model on it. The job file names the set, the code and the command:",
        command="cat train.yaml && acai run -f train.yaml --arg epochs=3 --follow",
        expects="loss",
    ),
    Step(
        says="What it printed as tags is metadata now; where its time went is kept too:",
        command="acai job show last",
        expects="finished",
    ),
    Step(
        says="Train again for longer; an argument is all that changes:",
        command="acai job rerun last --arg epochs=20 --wait",
        expects="finished",
    ),
    Step(
        says="Evaluate both models, each in a job on the output of the first:",
        command=(
            "for version in 1 2; do acai run --name evaluate --input digits"
            " --input model:$version --code src --output report --memory 512MB --wait"
            " python evaluate.py model; done"
        ),
        expects="finished",
    ),
    Step(
        says="Which is the best?",
        command="acai find sets 'max accuracy'",
        expects="report:2",
    ),
    Step(
        says="Trace it back to the data that made it:",
        command="acai trace report:2",
        expects="digits:1",
    ),
    Step(
        says="Which job trained the model behind it, with what?",
        command="acai find jobs 'args.epochs = 20'",
        expects="train-digits",
    ),
    Step(
        says="The same question twice is answered once: with --cache the output is there at once:",
        command=(
            "acai run -f train.yaml --arg epochs=4 --cache --wait"
            " && acai run -f train.yaml --arg epochs=4 --cache"
        ),
        expects="Answered by",
    ),
    Step(
        says="How long would 16 epochs take? Profile the command with a few short runs:",
        command=(
            "acai profile --template-name digits --input digits --code src --cpus 0.5,1"
            " --memories 512 --command-template"
            " 'python train.py --epochs {1,4,8}' --wait"
        ),
        expects="digits is ready",
    ),
    Step(
        says="Predicted and measured, side by side:",
        command="acai template show digits",
        expects="PREDICTED",
    ),
    Step(
        says="Provision a run under a budget: the fastest configuration that stays within it:",
        command=(
            "acai autoprovision --template-name digits --values 16 --max-cost 0.05"
            " --output model --wait"
        ),
        expects="finished",
    ),
    Step(
        says="What it all cost, at the on-demand prices of a cloud:",
        command="acai cost --by template",
        expects="digits",
    ),
    Step(
        says="Programs read the same as JSON:",
        command="acai find jobs 'status = finished order by runtime desc limit 1' --json",
        expects='"status": "finished"',
    ),
)
EXAMPLE = Path(__file__).parents[1] / "examples" / "digits"


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
    shutil.copytree(
        EXAMPLE, directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    tell("Start the platform in a temporary home, on a free port:")
    with platform(directory, environment):
        for step in STEPS:
            follow(step, directory, environment)
        tell("Stop it, as Ctrl-C would:")


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
