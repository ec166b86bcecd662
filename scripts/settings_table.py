"""Write the table of settings into docs/settings.md, out of `acai.settings`.

With --check nothing is written: the exit code says whether the page is up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from acai.settings import TABLE, Setting

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
BEGIN = "<!-- settings: written by scripts/settings_table.py -->"
END = "<!-- end of settings -->"


def render() -> str:
    rows = ["| flag | variable | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*rows, *(_row(setting) for setting in TABLE)])


def _row(setting: Setting) -> str:
    default = f"`{setting.default}`" if setting.default else "(empty)"
    return f"| `{setting.flag}` | `{setting.variable}` | {default} | {setting.help} |"


def updated(page: str) -> str:
    """The page with a fresh table between its two marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE} has lost its marks: {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{render()}\n{END}{after}"


def main(arguments: list[str]) -> int:
    page = PAGE.read_text("utf-8")
    fresh = updated(page)
    if fresh == page:
        return 0
    if "--check" in arguments:
        sys.stderr.write("docs/settings.md is out of date; run scripts/settings_table.py\n")
        return 1
    PAGE.write_text(fresh, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
