"""What a token looks like, and what of it is kept."""

from __future__ import annotations

import pytest

from acai.identity.tokens import new_token, parse_token, same_hash


def test_tokens_differ_and_parse_back() -> None:
    tokens = [new_token() for _ in range(200)]
    assert len({token.text for token in tokens}) == 200
    assert len({token.lookup for token in tokens}) == 200
    for token in tokens:
        assert parse_token(token.text) == token


def test_the_secret_is_in_neither_hash_nor_repr() -> None:
    token = new_token()
    secret = token.text.rpartition("_")[2]
    assert secret not in token.hash
    assert secret not in repr(token)
    assert len(secret) * 4.75 > 160  # bits: 27 letters


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1],
        lambda text: text + "x",
        lambda text: text + "\n",
        lambda text: text.upper(),
        lambda text: "",
        lambda text: "acai__",
        lambda text: "bcai" + text[4:],
        lambda text: text.replace("_", "-"),
        lambda text: text[:-1] + "é",
    ],
)
def test_what_is_no_token(change) -> None:  # type: ignore[no-untyped-def]
    assert parse_token(change(new_token().text)) is None


def test_hashes_are_compared_whole() -> None:
    one, other = new_token(), new_token()
    assert same_hash(one.hash, one.hash)
    assert not same_hash(one.hash, other.hash)
    assert not same_hash(one.hash, one.hash[:-1])
