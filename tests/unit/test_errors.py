"""The error tree: one code each, the same on both ends of the wire."""

from __future__ import annotations

import pickle

import pytest

from acai.model import errors
from acai.model.errors import BY_CODE, AcaiError, SetNotFound, from_wire

KINDS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AcaiError)
]


def test_every_error_has_a_code_of_its_own() -> None:
    assert len({kind.code for kind in KINDS}) == len(KINDS) == len(BY_CODE)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_survives_the_wire_and_a_process_border(kind: type[AcaiError]) -> None:
    error = kind("it broke; mend it", path="/a", count=3)
    for copy in (
        from_wire(error.code, error.message, error.detail),
        pickle.loads(pickle.dumps(error)),
    ):
        assert type(copy) is kind
        assert (copy.message, copy.detail) == (error.message, error.detail)
    assert 400 <= kind.status < 600


def test_children_answer_with_their_familys_status_unless_they_say_otherwise() -> None:
    assert SetNotFound.status == 404
    assert errors.StorageFull.status == 507


def test_a_code_of_a_newer_server_is_still_an_error() -> None:
    error = from_wire("something_new", "no", {"a": 1})
    assert type(error) is AcaiError
    assert error.message == "no"
