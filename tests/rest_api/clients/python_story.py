"""The story by the client that openapi-python-client made: `python_story.py URL TOKEN`."""

import json
import sys

from generated import AuthenticatedClient
from generated.api.batches import get_batch, list_batches, start_batch
from generated.api.tools import call_tool, list_tools
from generated.models import BatchList, BatchRequest, BatchView, CallRequest, CallResponse, Effect, ErrorBody, ToolList

COMMANDS = [
    {"id": "list", "module": "rag", "tool": "list_docs"},
    {"id": "read", "module": "rag", "tool": "get_doc", "params": {"path": "${list.items[0].path}"}},
]


def main() -> None:
    url, token = sys.argv[1:]
    client = AuthenticatedClient(base_url=url, token=token, timeout=60)
    tools = list_tools.sync(client=client, module="rag", effect=Effect.READS)
    assert isinstance(tools, ToolList)
    called = call_tool.sync(client=client, body=CallRequest(name="rag-list-tags"))
    assert isinstance(called, CallResponse)
    started = start_batch.sync(client=client, body=BatchRequest.from_dict({"commands": COMMANDS, "wait": 20}))
    assert isinstance(started, BatchView)
    batch = get_batch.sync(started.id, client=client, wait=20)
    assert isinstance(batch, BatchView)
    batches = list_batches.sync(client=client)
    assert isinstance(batches, BatchList)
    refused = call_tool.sync_detailed(client=client, body=CallRequest(name="rag-list-tag"))
    assert isinstance(refused.parsed, ErrorBody)
    found = {
        "tools": len(tools.tools),
        "called": called.success,
        "state": batch.state.value,
        "steps": [step.id for step in batch.steps or ()],
        "listed": any(one.id == started.id for one in batches.batches),
        "error": [refused.status_code.value, refused.parsed.code],
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
