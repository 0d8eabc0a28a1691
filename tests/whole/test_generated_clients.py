"""Clients that others' generators make from our OpenAPI document run a whole story, and their types say what comes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.local.deployment import LocalDeployment
from rest_api import page
from tests.peers.npm import modern_node, modules
from tests.peers.pypi import programs
from tests.whole.test_clients import run

CLIENTS = Path(__file__).parents[1] / "rest_api/clients"
TOLD = {"called": True, "state": "done", "steps": ["list", "read"], "listed": True}


def by_python_client(folder: Path, url: str, token: str) -> str:
    """The story by openapi-python-client."""
    bin_ = programs("openapi")
    generate = [bin_ / "openapi-python-client", "generate", "--path", page.FILE, "--output-path", folder / "generated"]
    run([*generate, "--meta", "none"], home=folder)
    shutil.copy(CLIENTS / "python_story.py", folder)
    return run([bin_ / "python", folder / "python_story.py", url, token], home=folder)


def by_typescript(folder: Path, url: str, token: str) -> str:
    """The stories by openapi-typescript and hey-api, a line each, after the compiler has checked their types."""
    node, installed = modern_node(), modules(CLIENTS)
    (folder / "node_modules").symlink_to(installed)
    for file in (*CLIENTS.glob("*.ts"), CLIENTS / "tsconfig.json"):
        shutil.copy(file, folder)
    types = [node, installed / "openapi-typescript/bin/cli.js", page.FILE, "-o", folder / "schema.ts"]
    run([*types, "--default-non-nullable", "false"], home=folder)
    hey = [node, installed / "@hey-api/openapi-ts/bin/run.js", "-i", page.FILE, "-o", folder / "hey"]
    run([*hey, "-c", "@hey-api/client-fetch"], home=folder)
    run([node, installed / "typescript/bin/tsc", "-p", folder, "--outDir", folder / "out"], home=folder)
    return "".join(run([node, folder / f"out/{name}_story.js", url, token], home=folder) for name in ("fetch", "hey"))


@pytest.mark.slow
@pytest.mark.parametrize("tell", [by_python_client, by_typescript])
def test_a_generated_client_runs_a_whole_story(
    deployment: LocalDeployment, tmp_path: Path, tell: Callable[[Path, str, str], str]
) -> None:
    stories = [json.loads(line) for line in tell(tmp_path, deployment.aws.api_url, deployment.token()).splitlines()]
    assert len(stories) == (1 if tell is by_python_client else 2)
    for story in stories:
        assert story.pop("tools") > 3
        assert story.pop("error") == [404, "TOOL_NOT_FOUND"]
        assert story == TOLD
