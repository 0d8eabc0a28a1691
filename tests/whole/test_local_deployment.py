"""The first steps of a new user: a real client, a schema, a call, a batch, and its machine in Step Functions."""

import json
from functools import partial

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference

from infra.local.demo import USER
from infra.local.deployment import LocalDeployment
from mcpist.polling import Polling
from tests.traffic import traffic_of
from tests.whole.conftest import McpUser

BATCH = """\
{"id":"find","module":"rag","tool":"search_docs","params":{"query":"token broker","limit":3}}
{"id":"first","module":"rag","tool":"get_doc","params":{"path":"${find.items[0].path}"},"output":true}
{"id":"tags","module":"rag","tool":"list_tags","output":true}
"""
# As a step with `each`, which needs a machine.
OF_EACH = '"params":{"path":"${find.items[0].path}"}', '"each":"${find.items}","params":{"path":"${each.path}"}'


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_of_either_era_lists_three_tools_loads_a_schema_and_calls(
    deployment: LocalDeployment, mode: str
) -> None:
    client = McpUser(deployment, deployment.token(USER), mode)
    assert [tool.name for tool in client.tools()] == ["get_module_schema", "call", "batch"]
    (schema,) = client.texts("get_module_schema", modules=["rag"], tools=["get_doc"])
    get_doc = next(tool for tool in json.loads(schema)["modules"][0]["tools"] if isinstance(tool, dict))
    assert get_doc["inputSchema"]["required"] == ["path"]
    fields = ["path", "title", "tags", "date", "version", "content"]
    assert get_doc["outputSchema"] == {"format": "markdown", "fields": fields}
    (found,) = client.texts("call", module="rag", tool="search_docs", params={"query": "設計"})
    assert "design.md" in found


def test_a_batch_of_dependent_steps_answers_with_rendered_results(user: McpUser) -> None:
    summary, first, tags = user.texts("batch", commands=BATCH)
    assert "done, 3 of 3 steps: find succeeded, first succeeded, tags succeeded" in summary
    assert first.startswith("first: succeeded\npath: broker.md\ntitle: The token broker\n")
    assert "security,2" in tags


def test_a_batch_is_seen_in_step_functions_with_its_parallel_branches(
    deployment: LocalDeployment, user: McpUser
) -> None:
    (summary, *_) = user.texts("batch", commands=BATCH.replace(*OF_EACH))
    batch = batch_of(summary)
    states = deployment.aws.client("stepfunctions")
    for machine in states.list_state_machines()["stateMachines"]:
        arn = machine["stateMachineArn"]
        for execution in states.list_executions(stateMachineArn=arn)["executions"]:
            if execution["name"] == batch:
                definition = json.loads(states.describe_state_machine(stateMachineArn=arn)["definition"])
                describe = partial(states.describe_execution, executionArn=execution["executionArn"])
    # The execution ends after the last step has settled, which the batch's answer waits for.
    ended = Polling(0.02, 0.5).wait(describe(), lambda one: one["status"] != "RUNNING", describe, seconds=10)
    assert ended["status"] == "SUCCEEDED"
    assert json.loads(ended["input"]) == {"batch": f"demo#{batch}"}
    (fork,) = definition["States"].values()
    assert (fork["Type"], len(fork["Branches"])) == ("Parallel", 2)


def test_a_dry_run_shows_the_plan_and_runs_nothing(deployment: LocalDeployment, user: McpUser) -> None:
    before = len(traffic_of(deployment.aws).requests)
    (shown,) = user.texts("batch", commands=BATCH, dry_run=True)
    plan = json.loads(shown)
    assert [step["needs"] for step in plan["steps"]] == [[], ["find"], []]
    assert plan["form"] == "machine"
    assert not [
        request for request in traffic_of(deployment.aws).requests[before:] if request.service in {"states", "lambda"}
    ]


def test_a_batch_is_fetched_again_by_who_started_it_and_by_an_administrator(
    user: McpUser, administrator: McpUser
) -> None:
    of_user, of_administrator = (visitor.texts("batch", commands=BATCH)[0] for visitor in (user, administrator))
    assert user.texts("batch", batch_id=batch_of(of_user))[0] == of_user
    of_another = administrator.texts("batch", batch_id=batch_of(of_user))
    assert of_another[0].startswith(f"{of_user} Its results are uma's")
    for batch in (batch_of(of_administrator), "b_0000000000000000"):
        result = user.call("batch", batch_id=batch)
        assert result.is_error
        assert json.loads(result.content[0].text)["code"] == "BATCH_NOT_FOUND"


def batch_of(summary: str) -> str:
    return summary.split()[1].rstrip(":")


# As a step with `each`, which needs a machine.
OF_EACH = '"params":{"path":"${find.items[0].path}"}', '"each":"${find.items}","params":{"path":"${each.path}"}'


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_reads_resources_gets_prompts_and_has_arguments_completed(
    deployment: LocalDeployment, mode: str
) -> None:
    client = McpUser(deployment, deployment.token(USER), mode)
    offered = client.ask(lambda asked: asked.list_resource_templates()).resource_templates
    templates = {one.name: one.uri_template for one in offered}
    assert templates["rag.document"] == "rag://docs/{+path}"
    read = client.ask(lambda asked: asked.read_resource("rag://docs/broker.md"))
    assert read.contents[0].text.startswith("path: broker.md\ntitle: The token broker\n")
    assert "rag.answer_from_documents" in {one.name for one in client.ask(lambda asked: asked.list_prompts()).prompts}
    said = client.ask(lambda asked: asked.get_prompt("rag.summarise_document", {"path": "broker.md"}))
    assert "broker.md" in said.messages[0].content.text
    reference = ResourceTemplateReference(uri=templates["rag.document"])
    typed = client.ask(lambda asked: asked.complete(reference, {"name": "path", "value": "bro"}))
    assert typed.completion.values == ["broker.md"]


def test_an_address_of_nothing_is_the_protocols_error(user: McpUser) -> None:
    async def read(asked: Client) -> MCPError:
        with pytest.raises(MCPError, match="There is no file") as refused:
            await asked.read_resource("rag://docs/nothing.md")
        return refused.value

    assert user.ask(read).error.data["code"] == "FILE_NOT_FOUND"
