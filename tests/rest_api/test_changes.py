"""Changes and their undo at the REST API."""

import pytest

from mcpist.caller import Role, Subject
from mcpist.files import access
from mcpist.people import directory
from mcpist.running.changes import ChangeContent
from mcpist_services import NAMES
from tests import members
from tests.kept_changes import keep
from tests.rest_api.rest_client import RestClient


@pytest.fixture(autouse=True)
def writing(organization: str) -> None:
    """Let members share files."""
    members.put_role(organization, Role("members", modules=NAMES, allow=("files.*",)))


def kept(rest: RestClient, mark: str = "old", **more: str) -> str:
    """Keep a change of Uma's file, as a write does, and return its id."""
    caller = directory.identify(Subject(rest.login.issuer, "uma"))
    file = access.put(caller, mark.encode(), "text/plain")
    call = "share", {"path": file.path, "roles": []}
    content = ChangeContent(
        tool="share", arguments={"path": file.path, "roles": ["members"]}, was={"roles": []}, calls=(call,), nonce=mark
    )
    return keep(caller, "files.share", content, **more)


def test_changes_are_listed_and_shown_to_their_owner_alone(rest: RestClient) -> None:
    change = kept(rest, batch="b_1")
    (listed,) = rest.get("/v1/changes", batch="b_1").json["changes"]
    assert (listed["id"], listed["tool"], listed["undoable"]) == (change, "files.share", True)
    assert rest.get("/v1/changes", since="2999-01-01T00:00:00Z").json["changes"] == []
    shown = rest.get(f"/v1/changes/{change}").json
    assert (shown["was"], shown["calls"][0]["tool"]) == ({"roles": []}, "share")
    assert rest.of("ada").get(f"/v1/changes/{change}").json["code"] == "CHANGE_NOT_FOUND"
    assert rest.of("ada").get(f"/v1/changes/{change}", user="uma").json["id"] == f"uma/{change}"
    assert rest.get("/v1/changes", since="soon").json["code"] == "VALIDATION_ERROR"


def test_an_undo_shows_its_plan_and_then_is_a_batch_of_its_own(rest: RestClient) -> None:
    change = kept(rest)
    plan = rest.post("/v1/undo", {"undo": change, "dryRun": True}).json["plan"]
    (step,) = plan["steps"]
    assert (step["tool"], step["undoes"], plan["left"]) == ("files.share", change, [])
    assert [(one["change"], one["was"]) for one in plan["undoes"]] == [(change, {"roles": []})]
    started = rest.post("/v1/undo", {"undo": change})
    assert (started.status, started.json["steps"][0]["tool"]) == (202, "files.share")


def test_what_cannot_be_undone_is_named(rest: RestClient) -> None:
    change = kept(rest, problem="a message that was sent")
    refused = rest.post("/v1/undo", {"undo": change})
    assert refused.status == 409
    assert "files.share: a message that was sent" in refused.json["error"]


def test_a_call_shows_what_it_would_change_before_it_runs(rest: RestClient) -> None:
    caller = directory.identify(Subject(rest.login.issuer, "uma"))
    file = access.put(caller, b"x", "text/plain")
    asked = {"path": file.path, "roles": ["members"]}
    shown = rest.call("files.share", parameters=asked, dryRun=True).json["result"]
    assert (shown["dry_run"], shown["tool"], shown["effect"]) == (True, "files.share", "writes")
    assert access.find(caller, file.path).roles == ()
