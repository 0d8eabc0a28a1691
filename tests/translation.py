"""Templates as CloudFormation sees them: translated by SAM's own translator."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from infra.local.intrinsics import read_yaml
from tests.internet import fetching_environment
from tests.peers.npm import alone

type Json = dict[str, Any]

ROOT = Path(__file__).parents[1]


def template() -> Json:
    """The project's template, with intrinsic functions in their long form."""
    return read_yaml(ROOT / "template.yaml")


def translate(templates: Mapping[str, Json]) -> dict[str, Json]:
    """Return the translation of each template by its name."""
    environment = fetching_environment()
    # The translator wants an older pydantic than ours: it runs in the SAM CLI's environment, beside the lock.
    installing = ["make", "--silent", ".tools/sam/.synced"]
    with alone("sam"):
        made = subprocess.run(installing, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if made.returncode and "error sending request" in made.stderr:
        pytest.skip("uv cannot fetch the SAM CLI: connect to the internet once")
    assert made.returncode == 0, made.stderr
    with TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{number}.json" for number, name in enumerate(templates)}
        for name, file in files.items():
            file.write_text(json.dumps(templates[name]), "utf-8")
        translating = [".tools/sam/bin/python", "scripts/translate.py", *map(str, files.values())]
        done = subprocess.run(translating, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {name: found[str(file)] for name, file in files.items()}
