"""What make says and finds before anything of ours runs."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from infra.source import ROOT

UV = """#!/bin/sh
case "$1 $2" in
  "python find") exit {found};;
  "python install") exit {fetched};;
esac
echo "uv $*" >&2
"""


@pytest.mark.parametrize(("found", "fetched"), [(0, 1), (1, 0), (1, 1)])
def test_python_3_13_is_found_or_fetched_or_missed_in_one_line(tmp_path: Path, found: int, fetched: int) -> None:
    for name in ("Makefile", "pyproject.toml", "uv.lock", ".python-version"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / "uv").write_text(UV.format(found=found, fetched=fetched))
    (tmp_path / "uv").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    command = ["make", ".venv/.synced"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if not line.startswith("make: ***")]
    if found and fetched:
        assert done.returncode != 0
        assert said == [
            "make needs Python 3.13, which uv neither found nor could fetch: install python3.13, or go online."
        ]
    else:
        assert done.returncode == 0, said
        assert any(line.startswith("uv sync --locked --extra local") for line in said)


def test_make_shell_finds_the_command_of_this_checkout() -> None:
    script = "command -v mcpist && mcpist --version"
    environment = {**os.environ, "SHELL": "/bin/sh"}
    done = subprocess.run(
        ["make", "--silent", "shell"],
        cwd=ROOT,
        env=environment,
        input=script,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[0] == str(ROOT / ".venv/bin/mcpist")
    assert '"success": true' in done.stdout
