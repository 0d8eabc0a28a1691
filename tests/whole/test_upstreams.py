"""Upstreams that nobody here wrote, behind the whole deployment: README's example, and two people with two accounts."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.local.deployment import DeploymentOptions, LocalDeployment, run_local_deployment
from infra.source import ROOT
from mcpist_services.definitions import parse_commented_json
from mcpist_services.upstream.configuration import UpstreamServer
from tests.accounts import connect, forget
from tests.traffic import traffic_of
from tests.upstreams.servers import clock, everything, modern_http
from tests.whole.conftest import McpUser, built, is_quota_request

DOCUMENTS = Path(__file__).parent / "documents"
TOKENS = {"uma": "uma-canary-at-sums", "ada": "ada-canary-at-sums"}


def written(server: UpstreamServer) -> dict[str, Any]:
    told: dict[str, Any] = server.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return told


@contextmanager
def sheltering(request: pytest.FixtureRequest) -> Iterator[LocalDeployment]:
    """A deployment with the categories of README's example, and a server that wants each caller's account."""
    file = request.getfixturevalue("tmp_path_factory").mktemp("upstreams") / "upstreams.json"
    example = parse_commented_json((ROOT / "examples/upstreams.json").read_text("utf-8"))
    with modern_http() as sums:
        example["mcpServers"] |= {"everything": written(everything()), "time": written(clock()), "sums": written(sums)}
        example["mcpServers"]["gone"] = {
            "description": "A server that is down",
            "type": "http",
            "url": "http://127.0.0.1:9/",
        }
        example["categories"] |= {
            "sums": {"description": "Sums", "server": "sums", "tools": {"includeNames": ["add", "who"]}},
            "everything.pictures": {
                "description": "Pictures",
                "server": "everything",
                "tools": {"includeNames": ["get-tiny-image"]},
            },
        }
        file.write_text(json.dumps(example), "utf-8")
        with run_local_deployment(DeploymentOptions(docs=DOCUMENTS, upstreams=file)) as deployment:
            yield deployment


pytestmark = [pytest.mark.slow, built(sheltering)]


def error(visitor: McpUser, name: str, **arguments: Any) -> dict[str, Any]:
    result = visitor.call(name, **arguments)
    assert result.is_error
    found: dict[str, Any] = json.loads(result.content[0].text)
    return found


def test_the_batch_of_the_readme_runs_over_two_upstreams_and_our_own_documents(user: McpUser) -> None:
    section = (ROOT / "README.md").read_text("utf-8").partition("## Your MCP servers behind it")[2]
    found = re.search(r"<<'STEPS'\n(.*?)STEPS\n", section, re.DOTALL)
    assert found
    summary, now, say, find = user.texts("batch", commands=found[1])
    assert "done, 3 of 3 steps: now succeeded, say succeeded, find succeeded" in summary
    assert "Asia/Tokyo" in now
    assert "Echo: batches at 20" in say
    assert find.startswith("find: succeeded")


def test_a_client_sees_categories_not_tools_and_a_server_that_is_down_hides_nothing(user: McpUser) -> None:
    description = user.tools()[0].description
    assert "clock, " in description
    assert "gone" in description
    assert "get_current_time" not in description
    assert error(user, "get_module_schema", modules=["gone"])["code"] == "UPSTREAM_UNAVAILABLE"
    (schema,) = user.texts("get_module_schema", modules=["clock"])
    assert "get_current_time(timezone)" in schema


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows a process's children in /proc")
def test_servers_run_below_the_program_runner_and_no_other_function_has_a_child_process(user: McpUser) -> None:
    user.texts("call", module="everything.basics", tool="echo", params={"message": "hi"})
    below = {
        name: [child for sandbox in pool.sandboxes for child in children(sandbox.pid)]
        for name, pool in user.deployment.aws.functions.items()
    }
    assert below.pop("ProgramRunnerFunction")
    assert len(below) >= 6
    assert not any(below.values())


def children(pid: int | None) -> list[str]:
    """Return the processes that a process has started."""
    found = [thread.read_text().split() for thread in Path(f"/proc/{pid}/task").glob("*/children")]
    return [child for thread in found for child in thread]


def test_a_picture_comes_through_a_call_and_through_a_batch(user: McpUser) -> None:
    shot = {"module": "everything.pictures", "tool": "get-tiny-image"}
    called = [block.type for block in user.call("call", **shot).content]
    assert "image" in called
    step = {"id": "shot", **shot, "output": True}
    assert "image" in [block.type for block in user.call("batch", commands=[step]).content]


def test_arguments_are_checked_before_a_batch_begins(user: McpUser) -> None:
    steps = [{"id": "now", "module": "clock", "tool": "get_current_time", "params": {"timezone": [5]}}]
    refused = error(user, "batch", commands=steps)
    assert (refused["code"], refused["details"]["line"]) == ("VALIDATION_ERROR", 1)


def test_two_people_act_with_their_own_accounts_only(
    deployment: LocalDeployment, user: McpUser, administrator: McpUser
) -> None:
    who = {"module": "sums", "tool": "who"}
    assert error(user, "call", **who)["code"] == "CONNECTION_REQUIRED"
    for name, token in TOKENS.items():
        connect(deployment, "sums", token, owner=f"user#{name}", account_name=f"{name}-at-sums")
    forget(deployment)
    for _ in range(2):
        for visitor, name in ((user, "uma"), (administrator, "ada")):
            assert visitor.texts("call", **who) == [f"Bearer {TOKENS[name]}"]
    for visitor, name in ((user, "uma"), (administrator, "ada")):
        _, told = visitor.texts("batch", commands=[{"id": "who", **who, "output": True}])
        assert told == f"who: succeeded (account: {name}-at-sums)\nBearer {TOKENS[name]}"


def test_a_sandbox_that_is_cold_asks_little_and_a_warm_one_only_for_the_audit_row(
    deployment: LocalDeployment, user: McpUser
) -> None:
    asked = {"module": "clock", "tool": "get_current_time", "params": {"timezone": "UTC"}}
    user.texts("call", **asked)
    forget(deployment)
    # A slow machine asks twice who is calling: that is remembered for seconds only.
    directory = deployment.aws.resource("Directory")
    counts = []
    for _ in ("cold", "warm"):
        before = len(traffic_of(deployment.aws).requests)
        user.texts("call", **asked)
        made = [
            request
            for request in traffic_of(deployment.aws).requests[before:]
            if request.function and not is_quota_request(request)
        ]
        counts.append(Counter(request.operation for request in made if directory not in request.tables))
    cold, warm = counts
    servers = 4
    # Each server, uma's own list of `sums`, and the program runner, which has the clock.
    assert cold == {"Query": servers + 1, "PutItem": 1, "Invoke": 1}
    assert warm == {"PutItem": 1, "Invoke": 1}


def test_the_proxy_tools_serve_the_same_categories(user: McpUser) -> None:
    proxy = replace(user, path="/categories")
    tools = [tool.name for tool in proxy.tools()]
    schema = proxy.call("get-category-tools", category="clock")
    time_ = proxy.call("call-category-tool", category="clock", name="get_current_time", args={"timezone": "UTC"})
    assert tools == ["get-category-tools", "call-category-tool"]
    assert "get_current_time" in json.loads(schema.content[0].text)["tools"]
    assert json.loads(time_.content[0].text)["timezone"] == "UTC"


def test_each_use_of_an_upstream_is_logged_without_what_was_said(deployment: LocalDeployment, user: McpUser) -> None:
    user.texts("call", module="everything.basics", tool="echo", params={"message": "a-canary-in-a-message"})
    logs = "\n".join(log.read_text("utf-8") for log in deployment.aws.logs.iterdir())
    lines = [line for line in logs.splitlines() if "upstream asked" in line and '"echo"' in line]
    assert lines
    assert {"category", "server", "tool", "outcome", "milliseconds"} <= json.loads(lines[-1]).keys()
    assert not [secret for secret in ("a-canary-in-a-message", *TOKENS.values()) if secret in logs]


def test_what_is_kept_of_upstreams_tells_no_secret(deployment: LocalDeployment, user: McpUser) -> None:
    connect(deployment, "sums", TOKENS["uma"], owner="user#uma", account_name="uma-at-sums")
    forget(deployment)
    user.texts("call", module="everything.basics", tool="echo", params={"message": "kept"})
    assert user.texts("call", module="sums", tool="who") == [f"Bearer {TOKENS['uma']}"]
    ledger = deployment.aws.client("dynamodb").scan(TableName=deployment.aws.resource("Ledger"))["Items"]
    kept = {(item["pk"]["S"], item["sk"]["S"]) for item in ledger}
    assert {("upstream#everything", "list#0"), ("upstream#everything", "pin#echo")} <= kept
    assert not [token for token in TOKENS.values() if token in str(ledger)]
