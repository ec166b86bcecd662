"""Job files: what they say, and how they are told wrong."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from acai.client.job_files import load_job_file, parse_job_file
from acai.client.job_options import JobOptions, argument_of, memory_of, output_of, seconds_of
from acai.model.errors import InvalidInput
from acai.model.jobs import Environment, JobRequest, OutputSpec, Priority, Resources

WHOLE = """\
name: train-mnist
input: [mnist:2, vocab]
code: ./src
command: python train.py --epochs {epochs} --lr {lr}
args: {epochs: 20, lr: 1e-3, fast: true, label: "007", version: 3.10}
environment: {requirements: requirements.txt, python: 3.10}
output: {name: mnist-model, path: results/, to: /models/}
resources: {cpu: 0.5, memory: 2048MB, gpu: 0}
timeout: 2h
priority: interactive
cache: true
retries: 2
env: {TOKENIZERS_PARALLELISM: false, EMPTY: ""}
description: first try
tags: [baseline, "no"]
meta: {model: mlp, a.b: 5, when: 2026-05-01}
"""


def test_a_whole_file() -> None:
    assert parse_job_file(WHOLE) == JobOptions(
        name="train-mnist",
        input=("mnist:2", "vocab"),
        code="./src",
        command="python train.py --epochs {epochs} --lr {lr}",
        args={"epochs": 20, "lr": 0.001, "fast": True, "label": "007", "version": "3.10"},
        requirements="requirements.txt",
        python="3.10",
        output="mnist-model",
        output_path="results/",
        output_to="/models/",
        cpu=0.5,
        memory=2_048_000_000,
        gpu=0,
        timeout=7200.0,
        priority=Priority.INTERACTIVE,
        cache=True,
        retries=2,
        env={"TOKENIZERS_PARALLELISM": "false", "EMPTY": ""},
        description="first try",
        tags=("baseline", "no"),
        meta={"model": "mlp", "a.b": 5, "when": datetime(2026, 5, 1, tzinfo=UTC)},
    )


def test_the_request_of_a_file_has_the_platforms_defaults() -> None:
    options = parse_job_file("command: echo\ninput: mnist\noutput: model\n")
    request = options.request(code=None, requirements=None)
    assert request == JobRequest(
        command="echo", input=("mnist",), output=OutputSpec(name="model", path="out/")
    )
    assert request.resources == Resources() and request.environment == Environment()
    whole = parse_job_file(WHOLE).request(code="@c:1", requirements="numpy\n")
    assert whole.output == OutputSpec(name="mnist-model", path="results/", to="/models/")
    assert (whole.code, whole.environment.requirements) == ("@c:1", "numpy\n")
    assert (whole.retries, whole.cache, whole.priority) == (2, True, Priority.INTERACTIVE)


WRONG = {
    "comand: x": "line 1: 'comand' is not a key of a job; did you mean 'command'?",
    "command: x\nresource: {cpu: 1}": "line 2: 'resource' is not a key of a job; did you mean"
    " 'resources'?",
    "command: x\ncpu: 2": "line 2: 'cpu' is not a key of a job; it belongs under 'resources'",
    "command: x\nresources:\n  cpus: 2": "line 3: 'cpus' is not a key of resources;"
    " did you mean 'cpu'?",
    "zzz: 1": "line 1: 'zzz' is not a key of a job; there are name, input, code,",
    "command: x\ncommand: y": "line 2: command is given twice",
    "command: [a, b]": "line 1: command is a list; it must be a command",
    "command:": "line 1: command is empty; it must be a command",
    "command: x\nresources: {cpu: two}": "line 2: resources.cpu is 'two'; it must be a number",
    "resources: {cpu: 0}": "resources.cpu is '0'; it must be more than nothing",
    "resources: {memory: 2 apples}": "line 1: resources.memory: '2 apples' is not a size",
    "resources: {memory: 512}": "a memory of 512 bytes runs nothing; write a unit, as in 512MB",
    "timeout: 2 fortnights": "line 1: timeout: '2 fortnights' is not a duration",
    "timeout: 0s": "a time limit of 0s is none",
    "priority: high": "line 1: priority: 'high' is not a priority; write batch or interactive",
    "cache: maybe": "line 1: cache is 'maybe'; it must be true or false",
    "retries: 1.5": "line 1: retries is '1.5'; it must be a whole number",
    "retries: -1": "it must be a whole number, 0 or more",
    "args:\n  1x: 5": "line 2: args.1x: '1x' is not the name of an argument",
    "args:\n  x: [1]": "line 2: args.x is a list; it must be a number, true, false or a text",
    "env: {A-B: x}": "line 1: 'A-B' is not the name of an environment variable",
    "env: {A: }": "line 1: env.A is empty; it must be a text",
    "environment: {image: a, python: 3.11}": "environment has an image and more",
    "environment: {python: two}": "environment.python is 'two'; it must be a version of Python",
    "output: {path: out/}": "line 1: output has no name",
    "output: {name: m, path: ../x}": "output.path is '../x', outside the working directory",
    "output: {name: m, path: /x}": "output.path is '/x', outside the working directory",
    "tags: ['a,b']": "line 1: tags: The tag 'a,b' has a comma",
    "- a\n- b": "line 1: the file is a list; it must be a mapping",
    "just words": "line 1: the file is 'just words'; it must be a mapping",
    "? [a]\n: b": "line 1: a key must be a plain word",
    "command: 'x\nname: y": "line 2",
    "command: x\n  name: y": "line 2, column 7: mapping values are not allowed here",
    "a: b\n---\nc: d": "line 2",
    "": "job.yaml is empty",
    "command: \x07": "job.yaml is not YAML",
}


@pytest.mark.parametrize("text", WRONG, ids=repr)
def test_what_is_wrong_is_told_with_its_line(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_job_file(text)
    assert WRONG[text] in caught.value.message
    assert caught.value.message.startswith("job.yaml")


def test_a_program_can_read_where_it_is_wrong() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_job_file("command: x\nmeta:\n  status: done\n", "a/b.yaml")
    assert caught.value.detail == {"file": "a/b.yaml", "line": 3, "key": "meta.status"}
    assert "read-only" in caught.value.message


def test_yaml_that_would_run_or_explode_does_neither() -> None:
    with pytest.raises(InvalidInput):
        parse_job_file("command: !!python/object/apply:os.system ['true']")
    bomb = "a0: &a0 [x]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30)
    )
    with pytest.raises(InvalidInput, match="'a0' is not a key"):
        parse_job_file(bomb)
    with pytest.raises(InvalidInput):
        parse_job_file("args: " + "[" * 5000)


def test_paths_in_a_file_are_relative_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "jobs"
    (directory / "src").mkdir(parents=True)
    file = directory / "job.yaml"
    monkeypatch.chdir(tmp_path)
    for written, meant in {
        "./src": str(directory / "./src"),
        "src": str(directory / "src"),
        "../other": str(directory / "../other"),
        "train-code:2": "train-code:2",
        "/code/x/@x-code": "/code/x/@x-code",
    }.items():
        file.write_text(f"command: x\ncode: {written}\nenvironment: {{requirements: r.txt}}\n")
        options = load_job_file("jobs/job.yaml")
        assert options.code == meant
        assert options.requirements == str(directory / "r.txt")
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        load_job_file(file)
    with pytest.raises(InvalidInput, match="cannot be read: No such file"):
        load_job_file(directory / "none.yaml")
    with pytest.raises(InvalidInput, match="cannot be read: Is a directory"):
        load_job_file(directory)


def test_options_given_beside_a_file_win() -> None:
    base = parse_job_file(WHOLE)
    flags = JobOptions(
        command="echo {epochs}",
        args={"epochs": 5},
        cpu=4,
        output="other",
        env={"NEW": "1"},
        tags=("baseline", "mine"),
        cache=False,
    )
    merged = flags.over(base)
    assert merged == replace(
        base,
        command="echo {epochs}",
        args={**base.args, "epochs": 5},
        cpu=4,
        output="other",
        env={**base.env, "NEW": "1"},
        tags=("baseline", "no", "mine"),
        cache=False,
    )
    imaged = JobOptions(image="repo/name").over(base)
    assert (imaged.image, imaged.requirements, imaged.python) == ("repo/name", None, None)
    assert JobOptions(python="3.12").over(imaged).image is None
    assert JobOptions().over(base) == base


def test_a_request_that_cannot_be_one() -> None:
    for options, problem in (
        (JobOptions(), "a job needs a command"),
        (JobOptions(command="  "), "a job needs a command"),
        (JobOptions(command="x", image="i", python="3.11"), "not both"),
        (JobOptions(command="x", output_path="out/"), "has a path but no name"),
    ):
        with pytest.raises(InvalidInput, match=problem):
            options.request(code=None, requirements=None)


def test_arguments_are_written_back_as_they_were() -> None:
    assert [argument_of(text) for text in ("5", "-2.5", "1e-3", "1.0", "true")] == [
        5,
        -2.5,
        0.001,
        1.0,
        True,
    ]
    for text in ("3.10", "0.50", "007", "True", "no", "1_000", "nan", "9" * 30, "", "a=b"):
        assert argument_of(text) == text


def test_quantities_and_outputs() -> None:
    assert memory_of("2GB") == memory_of(2 * 10**9) == 2 * 10**9
    assert seconds_of("2h") == seconds_of(7200) == seconds_of(timedelta(hours=2)) == 7200.0
    for wrong in (0, -1, float("inf"), float("nan"), "0m"):
        with pytest.raises(InvalidInput):
            seconds_of(wrong)
    assert output_of("m=res/x") == {"output": "m", "output_path": "res/x"}
    assert output_of("m") == {"output": "m", "output_path": None}
    with pytest.raises(InvalidInput):
        output_of("m=")
