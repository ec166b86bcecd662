from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acai.model import paths
from acai.model.errors import InvalidPath

COMPONENTS = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="/\u2028\u2029"),
    min_size=1,
    max_size=40,
).filter(lambda text: text not in {".", ".."})
FILE_PATHS = st.lists(COMPONENTS, min_size=1, max_size=6).map(lambda parts: "/" + "/".join(parts))


@pytest.mark.parametrize(
    "path",
    [
        "/a",
        "/data/train.json",
        "/data/with space /x",
        "/...",
        "/.hidden",
        "/a/..b/c..",
        "/name:12",
        "/a@b%",
        "/日本語/é",
        "/e\u0301",
        "/back\\slash",
        "/" + "a" * 255,
        "/" + "é" * 127,
        "/" + "/".join(["a" * 127] * 32),
    ],
)
def test_valid_paths_come_back_unchanged(path: str) -> None:
    assert paths.validate_path(path) == path


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "not absolute"),
        ("data/train.json", "write '/data/train.json'"),
        ("/", "names a directory"),
        ("/data/", "names a directory"),
        ("/a//b", "empty component"),
        ("//a", "empty component"),
        ("/a/./b", "component '.'"),
        ("/a/..", "component '..'"),
        ("/../etc/passwd", "component '..'"),
        ("/a\x00b", "U+0000"),
        ("/a\nb", "U+000A"),
        ("/a\x7f", "U+007F"),
        ("/a\x9b31m", "U+009B"),
        ("/a\u2028b", "U+2028"),
        ("/caf\udce9", "not valid UTF-8"),
        ("/" + "a" * 256, "256 bytes; shorten it to 255"),
        ("/x/" + "é" * 128, "256 bytes; shorten it to 255"),
        ("/" + "/".join(["a" * 127] * 33), "shorten it to 4096"),
        ("/" + "/".join(["é" * 100] * 21), "shorten it to 4096"),
    ],
)
def test_refused_paths_say_why(path: str, reason: str) -> None:
    with pytest.raises(InvalidPath) as caught:
        paths.validate_path(path)
    assert reason in caught.value.message
    assert caught.value.message.isprintable()
    caught.value.message.encode()
    str(caught.value.detail["path"]).encode()


def test_the_offending_component_is_named() -> None:
    with pytest.raises(InvalidPath) as caught:
        paths.validate_path("/good/bad\x01name/good")
    assert caught.value.detail["component"] == "bad\\x01name"


@pytest.mark.parametrize("directory", ["/", "/a/", "/a/b c/"])
def test_directories(directory: str) -> None:
    assert paths.validate_directory(directory) == directory


@pytest.mark.parametrize("directory", ["", "/a", "a/", "//", "/a//", "/./", "/a/../", "/a\x00/"])
def test_refused_directories(directory: str) -> None:
    with pytest.raises(InvalidPath):
        paths.validate_directory(directory)


@given(FILE_PATHS)
def test_parts_of_a_path_fit_together(path: str) -> None:
    assert paths.validate_path(path) == path
    directory = paths.parent(path)
    assert paths.validate_directory(directory) == directory
    assert directory + paths.name(path) == path
    assert paths.join(directory, paths.name(path)) == path
    above = paths.ancestors(path)
    assert above[0] == "/" and above[-1] == directory
    assert [paths.parent(each) for each in above] == ["/", *above[:-1]]
    for each in above:
        assert paths.is_under(path, each)
        assert each + paths.relative_to(path, each) == path


@given(FILE_PATHS, FILE_PATHS)
def test_prefix_range_holds_exactly_what_is_under_a_directory(path: str, other: str) -> None:
    low, high = paths.prefix_range(other + "/")
    for candidate in (path, other, other + path, other + "0", other + "."):
        assert (low <= candidate < high) == candidate.startswith(other + "/")


@given(st.text(st.characters(), max_size=300))
def test_quick_and_careful_checks_agree(text: str) -> None:
    path = "/" + text
    try:
        accepted = paths.validate_path(path) == path
    except InvalidPath:
        accepted = False
    components = path[1:].split("/")
    legal = all(
        each not in {"", ".", ".."}
        and len(each.encode(errors="replace")) <= 255
        and not any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029" for c in each)
        and not any(0xD800 <= ord(c) <= 0xDFFF for c in each)
        for each in components
    )
    assert accepted == legal


def test_a_directory_is_not_under_itself() -> None:
    assert not paths.is_under("/a/", "/a/")
    with pytest.raises(InvalidPath):
        paths.relative_to("/b/c", "/a/")
    assert paths.parent("/") == "/"
    assert paths.parent("/a/") == "/"
