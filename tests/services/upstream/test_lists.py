import random
import threading
import time
from typing import Any, Literal

import mcp_types
import pytest

from mcpist.aws.clients import client
from mcpist.errors import ConnectionRequired, StoreUnavailable, UpstreamUnavailable
from mcpist.memory import forget_entries
from mcpist_services.upstream import lists
from mcpist_services.upstream.listing import Listing
from mcpist_services.upstream.lists import EVERYBODY
from mcpist_services.upstream.trust import Pin
from tests.upstreams.configured import Upstreams

UMA, ADA = ("acme", "uma"), ("acme", "ada")


@pytest.fixture(autouse=True)
def upstreams(upstreams: Upstreams) -> Upstreams:
    upstreams.configure({"folder": {"description": "Files", "command": "folder"}})
    return upstreams


def listing(
    *names: str, ttl: float | None = None, scope: Literal["public", "private"] = "public", about: str = ""
) -> Listing:
    tools = [mcp_types.Tool(name=name, description=about, input_schema={"type": "object"}) for name in names]
    return Listing(tuple(tools), ttl, scope)


class Server:
    """What is asked, and how often."""

    def __init__(self, *answers: Listing | Exception) -> None:
        self.answers = list(answers)

    def __call__(self) -> Listing:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def names(known: lists.ServerState) -> list[str]:
    return [tool.name for tool in known.cached.listing.tools] if known.cached else []


def test_a_list_is_fetched_once_and_then_comes_from_memory_and_from_the_table(aws: list[str]) -> None:
    server = Server(listing("read"))
    assert names(lists.refreshed("folder", EVERYBODY, server)) == ["read"]
    aws.clear()
    assert names(lists.refreshed("folder", EVERYBODY, server)) == ["read"]
    assert aws == []
    forget_entries()
    assert names(lists.refreshed("folder", EVERYBODY, server)) == ["read"]
    assert aws == ["Query"]


@pytest.mark.parametrize(
    ("ttl", "seconds"), [(None, lists.DEFAULT_TTL_SECONDS), (120, 120), (0, lists.MIN_TTL_SECONDS), (1e9, 86_400)]
)
def test_how_long_a_list_holds_is_the_servers_to_say_within_bounds(ttl: float | None, seconds: float) -> None:
    kept = lists.store("folder", EVERYBODY, listing("read", ttl=ttl))
    assert kept.until == pytest.approx(time.time() + seconds, abs=5)


def test_a_long_list_is_kept_in_parts_and_read_whole() -> None:
    noise = random.Random(7)  # noqa: S311 - equal in every run
    about = "".join(noise.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=300))
    tools = [f"tool_{number}_{noise.getrandbits(800):x}" for number in range(5_000)]
    lists.store("folder", EVERYBODY, listing(*tools, about=about))
    forget_entries()
    parts = [item for item in lists._table().query("upstream#folder", "list#") if len(item["content"]) <= 300_000]
    assert len(parts) > 1
    assert names(lists.server_state("folder")) == tools


def test_the_approvals_of_a_large_server_are_written_some_at_once() -> None:
    writers = set()
    client("dynamodb").meta.events.register(
        "before-call.dynamodb.UpdateItem", lambda **_: writers.add(threading.current_thread().name), unique_id="writers"
    )
    approved = [Pin(f"tool_{number}", "print", "operator", 1) for number in range(100)]
    lists.approve("folder", approved)
    client("dynamodb").meta.events.unregister("before-call.dynamodb.UpdateItem", unique_id="writers")
    assert lists.pins("folder") == {pin.tool: pin for pin in approved}
    assert len(writers) > 4


def test_a_list_of_which_another_sandbox_writes_the_parts_is_not_read_half() -> None:
    lists.store("folder", EVERYBODY, listing("read"))
    lists._table().update("upstream#folder", "list#0", "SET #parts = :parts", values={":parts": 2})
    forget_entries()
    assert lists.server_state("folder").cached is None


def test_a_list_of_another_server_under_the_same_name_does_not_count(upstreams: Upstreams) -> None:
    lists.store("folder", EVERYBODY, listing("read"))
    upstreams.configure({"folder": {"description": "Other files", "command": "others"}})
    assert lists.server_state("folder").cached is None


def test_a_private_list_is_its_owners_alone() -> None:
    assert names(lists.refreshed("folder", UMA, Server(listing("uma_reads", scope="private")))) == ["uma_reads"]
    assert names(lists.refreshed("folder", ADA, Server(listing("ada_reads", scope="private")))) == ["ada_reads"]
    forget_entries()
    assert [names(lists.server_state("folder", owner)) for owner in (UMA, ADA, EVERYBODY)] == [
        ["uma_reads"],
        ["ada_reads"],
        [],
    ]


def test_while_a_server_is_silent_the_last_list_is_served_and_it_is_left_alone_for_a_while() -> None:
    past = lists.store("folder", EVERYBODY, listing("read"))
    lists._table().update(
        "upstream#folder", "list#0", "SET #until = :until", values={":until": int(past.until) - 9_999}
    )
    server = Server(UpstreamUnavailable(service="folder", problem="it is down"))
    for _ in range(2):
        found = lists.refreshed("folder", EVERYBODY, server)
        assert names(found) == ["read"]
        assert isinstance(found.failure, UpstreamUnavailable)
    assert found.cached is not None
    assert found.cached.is_stale


def test_who_must_connect_an_account_is_asked_for_again_at_once() -> None:
    missing = ConnectionRequired(service="folder", url="https://mcp.example.com/connect/files")
    server = Server(missing, listing("read"))
    assert lists.refreshed("folder", UMA, server).failure is missing
    assert names(lists.refreshed("folder", UMA, server)) == ["read"]


def test_who_approves_a_tool_first_has_pinned_it() -> None:
    lists.approve("folder", [Pin("read", "one", "name", 1)], again=False)
    lists.approve("folder", [Pin("read", "other", "name", 2)], again=False)
    assert lists.pins("folder")["read"].fingerprint == "one"
    lists.approve("folder", [Pin("read", "other", "operator", 3)])
    assert lists.pins("folder") == {"read": Pin("read", "other", "operator", 3)}


def test_approvals_never_expire() -> None:
    lists.approve("folder", [Pin("read", "one", "name", 1)])
    lists.store("folder", EVERYBODY, listing("read"))
    expiring = {item["sk"]: "expires_at" in item for item in lists._table().query("upstream#folder")}
    assert expiring == {"list#0": True, "pin#read": False}


def test_without_the_table_no_tool_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    lists.store("folder", EVERYBODY, listing("read"))
    forget_entries()

    def fail(*_: Any, **__: Any) -> None:
        raise StoreUnavailable(store="ledger")

    monkeypatch.setattr("mcpist.aws.table.Table.query", fail)
    found = lists.refreshed("folder", EVERYBODY, Server())
    assert found.cached is None
    assert isinstance(found.failure, StoreUnavailable)
