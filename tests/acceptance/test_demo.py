"""`make demo` succeeds, and says so only when it did."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "demo.py"


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The script as a module, with its temporary home below the test's own directory."""
    spec = importlib.util.spec_from_file_location("demo", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "demo", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return module


@pytest.mark.slow
def test_demo_succeeds_and_leaves_nothing(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "acai has stopped." in result.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "expects"), [("acai whoami --project nope", ""), ("acai whoami", "somebody else")]
)
def test_demo_fails_with_a_step(
    demo: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    expects: str,
) -> None:
    step = demo.Step(says="This cannot work:", command=command, expects=expects)
    monkeypatch.setattr(demo, "STEPS", (step,))
    assert demo.main() == 1
    assert "The demo failed" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
