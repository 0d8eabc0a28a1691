"""Two releases side by side: doors that are rolled out one after the other, and batches that outlive an upgrade.

The next release is this one with a field more wherever a door writes what another door reads.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from infra.local.demo import ORGANIZATION, ROLE
from infra.local.deployment import DeploymentOptions, LocalDeployment, operating, run_local_deployment
from infra.source import ROOT
from mcpist.caller import Role
from tests import members
from tests.accounts import connect, forget
from tests.project_copy import copy_code, with_modules
from tests.whole.conftest import HERE, GitHub, McpUser, built

pytestmark = [pytest.mark.slow]

MODULES = ("github", "probe", "rag")
GET_ME: dict[str, Any] = {"module": "github", "tool": "get_me"}
DOORS = ("McpEndpointFunction", "StepRunnerFunction", "TokenBrokerFunction")
ENDPOINT, RUNNER, BROKER = DOORS
# What the next release has at the end of a file.
ADDED = {
    "layers/core/mcpist/running/broker.py": """
def invoke(message, this_release=invoke, **options):
    return this_release({**message, "next_message": [1]}, **options)
""",
    "functions/token_broker/handler.py": """
def perform(*arguments, this_release=perform):
    return {"next_result": [1]} | this_release(*arguments)
""",
    "functions/token_broker/proof.py": """
class SealedToken(SealedToken):
    next_token: str = "1"
""",
    "layers/core/mcpist/batch/ledger/records.py": """
@dataclass(frozen=True, slots=True)
class Header(Header):
    next_header: str = "1"


@dataclass(frozen=True, slots=True)
class Entry(Entry):
    next_entry: Mapping[str, Any] = field(default_factory=lambda: {"a": 1})
""",
    "layers/core/mcpist/batch/machine/states.py": """
EXECUTION_CONTEXT["next"] = True
""",
    "functions/step_runner/handler.py": """
def run_attempt(*arguments, this_release=run_attempt):
    return {"next": True} | this_release(*arguments)
""",
}


def release(folder: Path, github: GitHub) -> Path:
    """Return a copy of this release with the probes, and GitHub on loopback."""
    root = with_modules(folder, HERE / "probe.py")
    for name in ("functions", "layers/core"):
        (root / name).unlink()
        copy_code(ROOT / name, root / name)
    file = root / "layers/services/mcpist_services/github/module.py"
    file.write_text(file.read_text("utf-8").replace("https://api.github.com", github.url), "utf-8")
    return root


@contextmanager
def upgraded(request: pytest.FixtureRequest) -> Iterator[LocalDeployment]:
    """Deploy this release, which the tests replace, with an account of GitHub."""
    folders, github = request.getfixturevalue("tmp_path_factory"), request.getfixturevalue("github")
    root = release(folders.mktemp("this"), github)
    with run_local_deployment(
        DeploymentOptions(docs=HERE / "documents", root=root, modules=MODULES, only=DOORS)
    ) as deployment:
        with operating(deployment.aws):
            members.put_role(ORGANIZATION, Role(ROLE, modules=MODULES, allow=("probe.*",)))
        connect(deployment, "github", "uma-canary-token")
        yield deployment


pytestmark.append(built(upgraded))


@pytest.fixture(scope="module")
def next_release(tmp_path_factory: pytest.TempPathFactory, github: GitHub) -> Path:
    root = release(tmp_path_factory.mktemp("next"), github)
    for name, added in ADDED.items():
        with (root / name).open("a", encoding="utf-8") as file:
            file.write(added)
    return root


@pytest.fixture(scope="module")
def this_release(tmp_path_factory: pytest.TempPathFactory, github: GitHub) -> Path:
    return release(tmp_path_factory.mktemp("again"), github)


def works(user: McpUser) -> None:
    """Call and run a batch with an account, in fresh sandboxes."""
    forget(user.deployment)
    assert "uma-at-github" in user.texts("call", **GET_ME)[0]
    steps = [{"id": "me", **GET_ME}, {"id": "tags", "module": "rag", "tool": "list_tags", "after": "me"}]
    assert "done, 2 of 2 steps: me succeeded, tags succeeded" in user.texts("batch", commands=steps)[0]


def test_doors_of_two_releases_work_together_whichever_is_rolled_out_first(
    deployment: LocalDeployment, user: McpUser, this_release: Path, next_release: Path
) -> None:
    works(user)
    for root, door in (
        (next_release, BROKER),  # an old endpoint and step runner with a new broker
        (next_release, ENDPOINT),  # a new endpoint with an old step runner
        (this_release, BROKER),  # a new endpoint with an old broker
        (next_release, RUNNER),
        (this_release, ENDPOINT),  # an old endpoint with a new step runner
        (this_release, RUNNER),
    ):
        deployment.aws.deploy(root, door)
        works(user)
    dynamodb, ledger = deployment.aws.client("dynamodb"), deployment.aws.resource("Ledger")
    stored = {name for item in dynamodb.scan(TableName=ledger)["Items"] for name in item}
    assert {"next_header", "next_entry"} <= stored


@pytest.mark.parametrize("upgrade", [True, False], ids=["upgrade", "rollback"])
def test_a_batch_under_way_goes_on_with_the_code_of_another_release_each_step_once(
    deployment: LocalDeployment, user: McpUser, this_release: Path, next_release: Path, tmp_path: Path, upgrade: bool
) -> None:
    before, after = (this_release, next_release) if upgrade else (next_release, this_release)
    deployment.aws.deploy(before, *DOORS)
    gate, trace = tmp_path / "gate", tmp_path / "trace"
    os.mkfifo(gate)
    steps = [
        {"id": "slow", "module": "probe", "tool": "look_long", "params": {"file": f"{trace}.slow", "gate": str(gate)}},
        {"id": "me", **GET_ME, "after": "slow"},
        {"id": "last", "module": "probe", "tool": "note", "params": {"file": f"{trace}.last"}, "after": "me"},
    ]
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(user.texts, "batch", commands=steps)
        with gate.open("w") as opened:  # as soon as the step waits
            deployment.aws.deploy(after, *DOORS)
            opened.write("go")
        (summary, *_) = running.result()
    assert "done, 3 of 3 steps: slow succeeded, me succeeded, last succeeded" in summary
    assert [path.stat().st_size for path in sorted(tmp_path.glob("trace.*"))] == [1, 1]
    works(user)
