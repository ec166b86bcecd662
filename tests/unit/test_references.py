from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acai.model.errors import InvalidPath, InvalidReference
from acai.model.references import (
    MAX_VERSION,
    DirectoryRef,
    FileRef,
    JobRef,
    LakeUrl,
    SetRef,
    format_entity,
    parse_entity,
    parse_file_reference,
    parse_set_reference,
    parse_spec,
    parse_url,
)

DOCUMENT = Path(__file__).parents[2] / "docs" / "references.md"

# Names made mostly of what references give a meaning to.
COMPONENTS = st.one_of(
    st.text("@:%+-0123456789aA .", min_size=1, max_size=12),
    st.text(
        st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="/\u2028\u2029"),
        min_size=1,
        max_size=20,
    ),
).filter(lambda text: text not in {".", ".."})
DIRECTORIES = st.lists(COMPONENTS, max_size=3).map(
    lambda parts: "/" + "".join(f"{p}/" for p in parts)
)
PATHS = st.builds(str.__add__, DIRECTORIES, COMPONENTS)
VERSIONS = st.none() | st.integers(1, MAX_VERSION)
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
SETS = st.builds(SetRef, name=NAMES, version=VERSIONS)
FILES = st.one_of(
    st.builds(FileRef, path=PATHS, version=VERSIONS),
    st.builds(FileRef, path=PATHS, set=st.none() | SETS),
)
DIRECTORY_REFS = st.builds(DirectoryRef, directory=DIRECTORIES, set=st.none() | SETS)
JOBS = st.builds(JobRef, id=NAMES)


@given(FILES | DIRECTORY_REFS)
@example(FileRef(path="/a:12"))
@example(FileRef(path="/a:12", version=3))
@example(FileRef(path="/a:", set=SetRef(name="S", version=1)))
@example(FileRef(path="/%40", version=1))
@example(FileRef(path="/%3A12"))
@example(FileRef(path="/:-1"))
@example(DirectoryRef(directory="/a:1/"))
def test_what_is_printed_parses_back(ref: FileRef | DirectoryRef) -> None:
    assert parse_spec(str(ref)) == ref
    if isinstance(ref, FileRef):
        assert parse_file_reference(str(ref)) == ref


@given(SETS)
def test_sets_parse_back(ref: SetRef) -> None:
    assert parse_set_reference(str(ref)) == ref
    assert parse_set_reference(f"@{ref}") == ref


@given(FILES | SETS | JOBS)
def test_entities_parse_back(ref: FileRef | SetRef | JobRef) -> None:
    assert parse_entity(format_entity(ref)) == ref


@given(st.builds(LakeUrl, project=NAMES, target=FILES | DIRECTORY_REFS))
def test_urls_parse_back(url: LakeUrl) -> None:
    assert parse_url(str(url)) == url


@given(
    st.text("/@:%0123aS.-\n é", max_size=30),
    st.sampled_from(["", "file:", "set:", "job:", "acai://p"]),
)
def test_garbage_is_refused_in_words(text: str, prefix: str) -> None:
    for parse in (parse_spec, parse_file_reference, parse_set_reference, parse_entity, parse_url):
        try:
            parse(prefix + text)
        except InvalidPath:
            pass
        except InvalidReference as error:
            assert 0 <= error.detail["position"] <= len(prefix + text)
            assert error.detail["expected"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data/train.json", FileRef(path="/data/train.json")),
        ("/data/train.json:2", FileRef(path="/data/train.json", version=2)),
        (
            "/data/train.json@HotpotQA:1",
            FileRef(path="/data/train.json", set=SetRef(name="HotpotQA", version=1)),
        ),
        (
            "/data/@HotpotQA:1",
            DirectoryRef(directory="/data/", set=SetRef(name="HotpotQA", version=1)),
        ),
        ("/@HotpotQA", DirectoryRef(directory="/", set=SetRef(name="HotpotQA"))),
        ("@HotpotQA", DirectoryRef(directory="/", set=SetRef(name="HotpotQA"))),
        ("/data/", DirectoryRef(directory="/data/")),
        ("/", DirectoryRef(directory="/")),
        ("/mail%40home", FileRef(path="/mail@home")),
        ("/100%25", FileRef(path="/100%")),
        ("/shot%3a12", FileRef(path="/shot:12")),
        ("/shot%3A12:3", FileRef(path="/shot:12", version=3)),
        ("/at 12:30:15.log", FileRef(path="/at 12:30:15.log")),
        ("/a:b", FileRef(path="/a:b")),
        ("/a:1b", FileRef(path="/a:1b")),
        ("/a:1/b", FileRef(path="/a:1/b")),
        ("/a:１", FileRef(path="/a:１")),  # noqa: RUF001
    ],
)
def test_specs(text: str, expected: FileRef | DirectoryRef) -> None:
    assert parse_spec(text) == expected


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 0, "a path such as"),
        ("train.json", 0, "did you mean '/train.json'"),
        ("HotpotQA", 0, "'@HotpotQA'"),
        ("/a:0", 3, "a version such as :1"),
        ("/a:01", 3, "a version such as :1"),
        ("/a:-1", 3, "%3A"),
        ("/a:+1", 3, "%3A"),
        ("/a:", 3, "%3A"),
        ("/a:99999999999999999999", 3, "up to 2147483647"),
        ("/a:2147483648", 3, "up to 2147483647"),
        ("/a@", 3, "a set name"),
        ("/a@S@T", 4, "%40"),
        ("/a@S:", 5, "a version such as"),
        ("/a@S:0", 5, "a version such as"),
        ("/a@S:1:2", 5, "a version such as"),
        ("/a@-S", 3, "a set name"),
        ("/a@S é", 4, "a set name"),
        ("/a@" + "S" * 129, 131, "a set name"),
        ("/a:1@S", 2, "one of them"),
        ("/data/:2", 6, "a directory without one"),
        ("/:2", 1, "a directory without one"),
        ("/50%", 3, "%25"),
        ("/50%zz", 3, "%25"),
        ("/50%2", 3, "%25"),
        ("/50%20", 3, "%25"),
        ("/x%/@S", 2, "%25"),
    ],
)
def test_refused_specs(text: str, position: int, words: str) -> None:
    with pytest.raises(InvalidReference) as caught:
        parse_spec(text)
    assert caught.value.detail["position"] == position
    assert f"column {position + 1}" in caught.value.message
    assert words in caught.value.message


@pytest.mark.parametrize("text", ["/a/../b", "/a//b", "/a\x00", "/..@S", "/./@S"])
def test_refused_paths_inside_references(text: str) -> None:
    with pytest.raises(InvalidPath):
        parse_spec(text)


@pytest.mark.parametrize("text", ["/data/", "/", "@S", "/data/@S"])
def test_a_directory_is_not_a_file(text: str) -> None:
    with pytest.raises(InvalidReference, match="the path of one file"):
        parse_file_reference(text)


@pytest.mark.parametrize("text", ["", "/S", "S:0", "S:", "S:x", "@", "S@T", "S T", "S:1 "])
def test_refused_sets(text: str) -> None:
    with pytest.raises(InvalidReference):
        parse_set_reference(text)


@pytest.mark.parametrize(
    "text", ["", "file", "/a", "files:/a", "file:a", "file:/a/", "set:", "job:", "job:a b"]
)
def test_refused_entities(text: str) -> None:
    with pytest.raises(InvalidReference):
        parse_entity(text)


def test_entities_report_positions_in_the_whole_text() -> None:
    with pytest.raises(InvalidReference) as caught:
        parse_entity("file:/a%zz")
    assert caught.value.detail["position"] == 7


def test_urls() -> None:
    root = LakeUrl(project="default", target=DirectoryRef(directory="/"))
    assert parse_url("acai://default") == root
    assert parse_url("acai://default/") == root
    assert parse_url("acai://p/a/b:2").target == FileRef(path="/a/b", version=2)
    for bad in ("s3://p/a", "acai:///a", "acai://", "acai://p@S", "acai://p q/a", "acai://p/a@"):
        with pytest.raises(InvalidReference):
            parse_url(bad)


def test_values_refuse_what_no_reference_can_say() -> None:
    with pytest.raises(InvalidReference):
        FileRef(path="/a", version=0)
    with pytest.raises(InvalidReference):
        FileRef(path="/a", version=1, set=SetRef(name="S"))
    with pytest.raises(InvalidReference):
        SetRef(name="no spaces")
    with pytest.raises(InvalidPath):
        FileRef(path="/a/")


def test_every_reference_in_the_documentation_parses() -> None:
    blocks = re.findall(
        r"```(specs|sets|entities|urls|refused)\n(.*?)```", DOCUMENT.read_text(), re.DOTALL
    )
    round_trips = {
        "specs": lambda text: str(parse_spec(text)),
        "sets": lambda text: str(parse_set_reference(text)),
        "entities": lambda text: format_entity(parse_entity(text)),
        "urls": lambda text: str(parse_url(text)),
    }
    seen = set()
    for kind, block in blocks:
        seen.add(kind)
        for line in block.splitlines():
            text = re.split(r"\s{2,}", line)[0]
            if kind == "refused":
                with pytest.raises((InvalidReference, InvalidPath)):
                    parse_spec(text)
            else:
                printed = round_trips[kind](text)
                assert round_trips[kind](printed) == printed
    assert seen == {"specs", "sets", "entities", "urls", "refused"}
