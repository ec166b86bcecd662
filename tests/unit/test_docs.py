"""What is documented exists, and what exists is documented."""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from acai import settings
from acai.api import routes
from acai.cli.command import COMMON_NAMES
from acai.cli.main import COMMANDS, root
from acai.client.credentials import Target
from acai.doctor import examine
from acai.model.errors import BY_CODE

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]
PAGES += sorted((ROOT / "design").glob("*.md"))
# Read or set by the command line, the client and jobs; everything else is a server's setting.
OTHER_VARIABLES = {
    "ACAI_SERVER",
    "ACAI_TOKEN",
    "ACAI_PROJECT",
    "ACAI_JOB_ID",
    "ACAI_ATTEMPT",
    "ACAI_CONFINED_AS",
    "ACAI_INPUT_DIR",
    "ACAI_OUTPUT_DIR",
    "ACAI_TAG",
    "ACAI_TAG_NUM",
}


def _commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield f"{path} {name}", found
        if isinstance(found, click.Group):
            yield from _commands(found, f"{path} {name}")


ALL_COMMANDS = dict(_commands(root, "acai"))


def _sections(page: str) -> dict[str, str]:
    parts = re.split(r"^#+ (.+)\n", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_table_of_settings_is_up_to_date() -> None:
    script = ROOT / "scripts" / "settings_table.py"
    result = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("row", settings.TABLE, ids=lambda row: row.name)
def test_setting_is_documented(row: settings.Setting) -> None:
    page = (DOCS / "settings.md").read_text("utf-8")
    line = next((line for line in page.splitlines() if line.startswith(f"| `{row.flag}` ")), "")
    for part in (row.variable, row.default, row.help):
        assert part in line


def test_help_of_up_shows_every_setting() -> None:
    result = CliRunner().invoke(root, ["up", "--help"], terminal_width=400, max_content_width=400)
    assert result.exit_code == 0
    for row in settings.TABLE:
        line = next((x for x in result.output.splitlines() if x.strip().startswith(row.flag)), "")
        for part in (row.variable, row.default, row.help):
            assert part in line, f"{row.flag}: {part!r} is missing from `acai up --help`"


@pytest.mark.parametrize("path", ALL_COMMANDS)
def test_command_is_documented(path: str) -> None:
    sections = _sections((DOCS / "command-line.md").read_text("utf-8"))
    assert path in sections, f"docs/command-line.md has no heading '{path}'"
    command = ALL_COMMANDS[path]
    if path == "acai up" or isinstance(command, click.Group):
        return  # its options are the settings; a group has none
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name not in COMMON_NAMES:
            longest = max(parameter.opts, key=len)
            assert longest in sections[path], f"{path}: {longest} is not documented"


def test_no_command_is_documented_that_is_gone() -> None:
    headings = _sections((DOCS / "command-line.md").read_text("utf-8"))
    assert {each for each in headings if each.startswith("acai ")} <= set(ALL_COMMANDS)


def test_options_of_every_command_are_documented() -> None:
    section = _sections((DOCS / "command-line.md").read_text("utf-8"))["Options of every command"]
    for name in COMMON_NAMES:
        assert f"`--{name}" in section


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_shell_blocks_exist(page: Path) -> None:
    """Blocks that are shown but not run; `console` blocks are run by the acceptance tests."""
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.M | re.S):
        for noun, verb in re.findall(r"(?:^|[;|&(] ?)acai ([a-z]+)(?: ([a-z]+))?", block, re.M):
            assert noun in COMMANDS, f"acai {noun}"
            if isinstance(ALL_COMMANDS[f"acai {noun}"], click.Group):
                assert f"acai {noun} {verb}" in ALL_COMMANDS


def test_errors_are_documented() -> None:
    section = _sections((DOCS / "http.md").read_text("utf-8"))["Errors"]
    rows = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", section, re.MULTILINE))
    assert rows == {code: str(kind.status) for code, kind in BY_CODE.items()}


def test_documented_routes_exist() -> None:
    documented = re.findall(
        r"^\| `(GET|POST|PUT|DELETE|PATCH) (/\S+)` \|",
        (DOCS / "http.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert documented
    assert set(documented) <= _served_routes()


def _served_routes() -> set[tuple[str, str]]:
    found = set()
    for module in pkgutil.iter_modules(routes.__path__):
        router = import_module(f"acai.api.routes.{module.name}").routes
        for route in router.routes:
            for method in route.methods:
                found.add((method, route.path))
                found.add((method, f"/api/v1{route.path}"))
    return found


def test_checks_of_doctor_are_documented(tmp_path: Path) -> None:
    page = (DOCS / "troubleshooting.md").read_text("utf-8")
    target = Target(server="http://127.0.0.1:1", token=None, project=None)
    names = [each.name for each in examine(settings.load({"home": str(tmp_path)}, {}), target)]
    assert set(names) == set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_variables_in_pages_exist(page: Path) -> None:
    used = set(re.findall(r"(?<![A-Z_])ACAI_(?!TEST_)[A-Z_]+[A-Z]", page.read_text("utf-8")))
    assert used <= {row.variable for row in settings.TABLE} | OTHER_VARIABLES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", _without_blocks(page.read_text("utf-8"))):
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if anchor:
            assert anchor in _anchors(target.read_text("utf-8")), link


def _without_blocks(page: str) -> str:
    return re.sub(r"^```.*?^```", "", page, flags=re.M | re.S)


def _anchors(page: str) -> set[str]:
    """The anchors that GitHub gives to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", _without_blocks(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def test_index_names_every_page() -> None:
    index = (DOCS / "index.md").read_text("utf-8")
    for page in DOCS.glob("*.md"):
        if page.name != "index.md":
            assert f"]({page.name})" in index, page.name
