"""Templates are profiled by real jobs, and runs provisioned with what they taught."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from acai.client.client import Client
from acai.client.credentials import Credentials
from acai.model.errors import AlreadyExists, InvalidInput, TemplateNotFound
from acai.model.jobs import JobState
from acai.model.templates import TemplateDetail, TemplateStatus
from servers.acai_up import acai_up

# Uses as much CPU time as it is told, and as little else as possible.
BURN = (
    "python3 -c 'import sys,time\n"
    "while time.process_time() < float(sys.argv[1]): pass' {seconds: 0.1,0.3,0.6}"
)


# Says how far it is, and takes its time: some to begin, and some for every step.
STEPS = (
    "python3 -c 'import sys,time\n"
    "time.sleep(0.3)\n"
    "for n in range(int(sys.argv[1])):\n"
    "    time.sleep(0.25)\n"
    '    print("[ACAI_TAG_NUM] JOB steps:" + str(n + 1))\' {steps: 2,4}'
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    home = tmp_path_factory.mktemp("provisioning") / "home"
    with acai_up(home) as server:
        login = Credentials.load(home).logins[0]
        with Client(server.url, login.token, login.project) as made:
            yield made


@pytest.fixture(scope="module")
def burn(client: Client) -> TemplateDetail:
    client.profile("burn", BURN, cpus=[0.5, 1], memories=[256], wait=True)
    return client.template("burn")


def test_a_template_is_profiled_by_jobs_until_enough_is_known(
    client: Client, burn: TemplateDetail
) -> None:
    assert burn.status is TemplateStatus.READY and burn.reason
    assert burn.progress.grid == 6 and 3 <= burn.progress.done <= 6
    assert [one.name for one in burn.parameters] == ["seconds"]
    assert burn.model and burn.explanation and burn.error is not None
    done = [one for one in burn.points if one.outcome == "finished"]
    assert len(done) >= 3 and all(one.predicted and one.cost and one.profiled for one in done)
    job = client.job(done[0].job)
    assert job.template == "burn" and "profiling" in job.tags
    assert client.job_detail(job.id).request.priority.value == "profiling"


def test_a_run_is_planned_under_a_deadline(client: Client, burn: TemplateDetail) -> None:
    before = len(list(client.jobs()))
    plan = client.autoprovision("burn", [1.0], max_time="1m", dry_run=True, surface=True)
    assert plan.choice is not None and plan.job is None
    assert plan.optimize == "cost"
    low, high = plan.choice.seconds_interval
    assert low < plan.choice.seconds < high and plan.choice.seconds_likely <= 60
    assert plan.choice.cost_likely >= plan.choice.cost
    assert len(plan.surface) == plan.considered
    assert any(one.cpu == plan.choice.cpu and one.allowed for one in plan.surface)
    assert any("outside" in one or "beyond" in one for one in plan.warnings), plan.warnings
    assert len(list(client.jobs())) == before, "a dry run ran something"


def test_a_provisioned_run_keeps_its_prediction_and_teaches(
    client: Client, burn: TemplateDetail
) -> None:
    plan = client.autoprovision("burn", {"seconds": 0.2}, max_cost=1.0)
    assert plan.choice is not None and plan.job is not None
    done = client.job(plan.job.id).wait()
    assert done.status is JobState.FINISHED
    assert (done.cpu, done.memory) == (plan.choice.cpu, plan.choice.memory)
    kept = client.job_detail(done.id).prediction
    assert kept is not None and kept["seconds"] == pytest.approx(plan.choice.seconds)
    (point,) = [one for one in client.template("burn").points if one.job == done.id]
    assert not point.profiled and point.predicted_before == pytest.approx(plan.choice.seconds)


def test_what_cannot_be_met_says_what_would(client: Client, burn: TemplateDetail) -> None:
    plan = client.autoprovision("burn", [0.6], max_time=0.001)
    assert plan.choice is None and plan.job is None
    assert plan.shortfall and "too long" in plan.shortfall
    assert sum(one.count for one in plan.excluded) >= plan.considered


def test_a_new_template_of_the_same_command_starts_from_what_is_known(
    client: Client, burn: TemplateDetail
) -> None:
    again = BURN.replace("0.1,0.3,0.6", "0.1,0.2")
    made = client.profile("burn-again", again, cpus=[0.5, 1], memories=[256], wait=True)
    assert made.status is TemplateStatus.READY
    assert made.progress.done < burn.progress.done, "it did not learn from its relative"


def test_a_run_that_reports_how_far_it_is_teaches_about_shorter_ones(client: Client) -> None:
    client.profile("steps", STEPS, cpus=[1, 2], memories=[256], adaptive=False, wait=True)
    shown = client.template("steps")
    assert shown.status is TemplateStatus.READY and shown.progress.done == 4
    # Of two steps the first, of four the first and the second: not the third, nearly the whole.
    assert shown.explanation and "4 runs and 6 shorter ones" in shown.explanation
    plan = client.autoprovision("steps", [12], max_time="1m", dry_run=True)
    assert plan.choice is not None
    assert 0.3 + 12 * 0.25 < plan.choice.seconds < 1.5 * (0.3 + 12 * 0.25)


def test_costs_are_summed(client: Client, burn: TemplateDetail) -> None:
    spent = sum(job.cost or 0 for job in client.jobs())
    for by in ("user", "day", "template", "project"):
        assert sum(one.cost for one in client.costs(by)) == pytest.approx(spent)
    assert {one.key for one in client.costs("tag")} >= {"profiling"}
    with pytest.raises(InvalidInput, match="summed by"):
        client.costs("colour")


def test_failures_end_a_template_with_the_first_error(client: Client) -> None:
    made = client.profile("broken", "exit 3 # {n: 1,2,3,4}", cpus=[1], memories=[256], wait=True)
    assert made.status is TemplateStatus.FAILED
    assert made.reason and "none of" in made.reason and "exit code 3" in made.reason
    with pytest.raises(InvalidInput, match="too few"):
        client.autoprovision("broken", [1], max_cost=1)


@pytest.mark.parametrize(
    ("command", "changes", "word"),
    [
        ("x {}", {}, "empty"),
        ("x {a:}", {}, "a"),
        ("x {n: 1,2}", {"budget": -1.0}, "budget"),
        ("x {n: 1,2}", {"cpus": [4000.0]}, "4000"),
        ("x {n: 1,2}", {"cpus": [0.0]}, "CPU"),
        ("x {n: 1,2} {other}", {}, "other"),
    ],
)
def test_bad_templates_are_refused(
    client: Client, command: str, changes: dict[str, float], word: str
) -> None:
    with pytest.raises(InvalidInput, match=word):
        client.profile("bad", command, **changes)  # type: ignore[arg-type]
    with pytest.raises(TemplateNotFound):
        client.template("bad")


def test_bad_plans_are_refused(client: Client, burn: TemplateDetail, tmp_path: Path) -> None:
    with pytest.raises(TemplateNotFound, match="no template"):
        client.autoprovision("nothing", [1])
    with pytest.raises(InvalidInput, match="above 0"):
        client.autoprovision("burn", [1], max_cost=-1)
    with pytest.raises(InvalidInput, match="seconds"):
        client.autoprovision("burn", [])
    with pytest.raises(AlreadyExists):
        client.profile("burn", "other {n: 1,2}")
