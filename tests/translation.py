"""Templates as CloudFormation sees them: translated by SAM's own translator."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from infra.local.intrinsics import read_yaml
from tests.internet import fetching_environment

type Json = dict[str, Any]

ROOT = Path(__file__).parents[1]


def template() -> Json:
    """The project's template, with intrinsic functions in their long form."""
    return read_yaml(ROOT / "template.yaml")


def translate(templates: Mapping[str, Json]) -> dict[str, Json]:
    """Return the translation of each template by its name."""
    version = re.search(r"^SAM_VERSION := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    uv = os.environ.get("UV") or shutil.which("uv") or str(ROOT / ".tools/bin/uv")
    assert version
    # The translator wants an older pydantic than ours: it runs in the SAM CLI's environment, beside the lock.
    command = [uv, "tool", "run", "--python", sys.executable, "--from", f"aws-sam-cli=={version[1]}", "python"]
    with TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{number}.json" for number, name in enumerate(templates)}
        for name, file in files.items():
            file.write_text(json.dumps(templates[name]), "utf-8")
        translating = [*command, "scripts/translate.py", *map(str, files.values())]
        environment = fetching_environment()
        done = subprocess.run(translating, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode and "error sending request" in done.stderr:
        pytest.skip("uv cannot fetch the SAM CLI: connect to the internet once")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {name: found[str(file)] for name, file in files.items()}
