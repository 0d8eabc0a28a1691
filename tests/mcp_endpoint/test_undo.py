"""Preview and undo at the endpoint: `dry_run` of a call, and `undo` of a batch."""

import json

import pytest

from mcpist.caller import Role, Subject
from mcpist.files import access
from mcpist.people import directory
from mcpist.running.changes import ChangeContent
from mcpist_services import NAMES
from tests import members
from tests.kept_changes import keep
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.mcp_endpoint.ledger_driver import LedgerDriver


@pytest.fixture
def door(endpoint: EndpointClient) -> EndpointClient:
    """A client who may share files."""
    members.put_role("acme", Role("members", modules=NAMES, allow=("files.*",)))
    directory.access_cache.clear()
    return endpoint.apart


def shared(door: EndpointClient) -> str:
    """Keep the change of a shared file, and return its id."""
    caller = directory.identify(Subject(door.login.issuer, "uma"))
    path = access.put(caller, b"x", "text/plain").path
    call = "share", {"path": path, "roles": []}
    content = ChangeContent(tool="share", arguments={}, was={"roles": []}, calls=(call,), nonce="r")
    return keep(caller, "files.share", content)


def test_a_call_is_shown_instead_of_run(door: EndpointClient) -> None:
    caller = directory.identify(Subject(door.login.issuer, "uma"))
    path = access.put(caller, b"x", "text/plain").path
    params = {"path": path, "roles": ["members"]}
    shown = json.loads(door.call("call", module="files", tool="share", params=params, dry_run=True)[1][0])
    assert shown["difference"] == {"roles": {"now": [], "then": ["members"]}}
    assert access.find(caller, path).roles == ()


def test_a_change_is_undone_by_a_batch_of_its_own(door: EndpointClient) -> None:
    change = shared(door)
    (listed,) = door.call("call", module="changes", tool="list")[1]
    assert change in listed
    plan = json.loads(door.call("batch", undo=change, dry_run=True)[1][0])
    assert (plan["steps"][0]["tool"], plan["undoes"][0]["change"]) == ("files.share", change)
    batch = door.call("batch", undo=change)[1][0].split()[1].rstrip(":")
    (entry,) = LedgerDriver(batch).head.ids
    assert LedgerDriver(batch).step(entry).step.undoes == change


def test_the_tool_undo_is_the_same_batch(door: EndpointClient) -> None:
    change = shared(door)
    called: dict[str, object] = {"module": "changes", "tool": "undo", "params": {"what": change}}
    members.put_role("acme", Role("members", modules=NAMES, allow=("files.*", "changes.*")))
    directory.access_cache.clear()
    assert json.loads(door.call("call", **called, dry_run=True)[1][0])["undoes"][0]["change"] == change
    batch = door.call("call", **called)[1][0].split()[1].rstrip(":")
    assert LedgerDriver(batch).step(LedgerDriver(batch).head.ids[0]).step.undoes == change
    assert door.error("call", module="changes", tool="undo", params={})["code"] == "VALIDATION_ERROR"
    step = {"id": "a", "module": "changes", "tool": "undo", "params": {"what": change}}
    assert "b_" in door.call("batch", commands=[step])[1][0]


def test_what_belongs_to_an_undo_is_refused_elsewhere(door: EndpointClient) -> None:
    for arguments, field in (({"undo": "c_1", "resume": "b_1"}, "undo"), ({"commands": "x", "anyway": True}, "anyway")):
        assert door.error("batch", **arguments)["details"]["field"] == field
    assert door.error("batch", undo="c_" + "0" * 36)["code"] == "CHANGE_NOT_FOUND"
    assert door.error("batch", undo="b_0123456789abcdef")["code"] == "CONFLICT"
