"""What an agent is told by its environment, and what it does not repeat."""

from __future__ import annotations

from pathlib import Path

import pytest

from acai.agent.settings import CACHE_SIZE, from_env
from acai.model.errors import InvalidSetting

GIVEN = {
    "ACAI_SERVER": "http://127.0.0.1:7650/",
    "ACAI_TOKEN": "acai_secret",
    "ACAI_JOB_ID": "job-2345678bcd",
    "ACAI_ATTEMPT": "2",
    "ACAI_PROJECT": "default",
    "ACAI_RUN_DIR": "/run/here",
    "ACAI_CACHE_DIR": "/cache",
}


def test_the_environment_is_read() -> None:
    found = from_env(GIVEN)
    assert found.server == "http://127.0.0.1:7650"
    assert found.handle == "job-2345678bcd.2"
    assert (found.run_dir, found.cache_dir) == (Path("/run/here"), Path("/cache"))
    assert found.server_file is None and found.enforce and found.cache_size == CACHE_SIZE
    assert "secret" not in repr(found)


def test_the_rest_can_be_given() -> None:
    more = {"ACAI_SERVER_FILE": "/h/lock", "ACAI_ENFORCE": "0", "ACAI_CACHE_SIZE": "5GB"}
    found = from_env({**GIVEN, **more})
    assert found.server_file == Path("/h/lock")
    assert not found.enforce and found.cache_size == 5 * 10**9


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_missing_is_named(name: str) -> None:
    with pytest.raises(InvalidSetting, match=name):
        from_env({key: value for key, value in GIVEN.items() if key != name})


def test_an_attempt_is_a_number() -> None:
    with pytest.raises(InvalidSetting, match="ACAI_ATTEMPT"):
        from_env({**GIVEN, "ACAI_ATTEMPT": "two"})
