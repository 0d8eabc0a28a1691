import io
import json
import logging
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Annotated, Any

import mcp_types
import pytest

from mcpist.aws import clients
from mcpist.aws.attributes import Item
from mcpist.caller import Caller, ClientInfo, Proof, Role
from mcpist.errors import (
    AnswerWithheld,
    ConnectionRequired,
    InvalidArguments,
    InvalidRequest,
    McpistError,
    RateLimitExceeded,
    ReconnectRequired,
    ScopeMissing,
    StoreUnavailable,
    Timeout,
    ToolExecutionError,
    UpstreamUnavailable,
    to_message,
)
from mcpist.files import access
from mcpist.files.content import ContentArgument
from mcpist.render.shows import DOWNLOADED, shows
from mcpist.running.options import DEFAULT_OPTIONS, RunOptions
from mcpist.running.run import ToolResult, run_tool
from mcpist.tools.declare.call import Call, Calls, Lookup, PartialList, ProxiedCall, ProxiedResponse
from mcpist.tools.declare.dialect import Refusals, TokenRefused
from mcpist.tools.declare.module import Module, Scopes
from mcpist.tools.declare.pasted import address_reader, from_url
from mcpist.tools.declare.schema_tool import UpstreamTool
from mcpist.tools.declare.tool import DeclaredTool, Effect
from tests.audit_items import audit_items
from tests.core.loopback import Reply, Service, close_connections, json_response, serving
from tests.core.sample import caller
from tests.lost_rows import demand_rows, lose_rows

ADDRESS = address_reader(r"https://(?P<site>[\w.]+)/browse/(?P<item_id>\d+)")
UMA: Caller = replace(caller(Role("members")), proof=Proof("jwt", "j.w.t"))


class Vendor:
    """A service, the broker in front of its credentials, and the rows that its use leaves."""

    def __init__(self, service: Service, sent: list[str]) -> None:
        self.service = service
        self.sent = sent
        self.tokens: list[Any] = ["t1", "t2", "t3"]
        self.scopes: list[str] = []
        self.site_url = ""
        self.roles: list[str] = []  # those that the broker was asked in
        self.module = declared(service.url)
        clients.session().register("before-call.lambda.Invoke", self.resolve)

    def resolve(self, params: Any, **_: Any) -> Any:
        """The broker's answer: the next token, or an error."""
        self.roles = json.loads(params["body"])["roles"]
        token = self.tokens.pop(0)
        account = {"account_id": "7", "account_name": "uma@shop", "owner": "user#uma", "expires_at": None}
        account |= {"version": 1, "scopes": self.scopes, "site_url": self.site_url, "keep_seconds": 60}
        known = not isinstance(token, McpistError)
        answer = {"result": {"token": token, **account}} if known else {"error": to_message(token)}
        payload = {"Payload": io.BytesIO(json.dumps(answer).encode()), "ResponseMetadata": {"RequestId": "i1"}}
        return type("Response", (), {"status_code": 200}), payload

    def brought(
        self, tool: str, options: RunOptions = DEFAULT_OPTIONS, who: Caller = UMA, **arguments: Any
    ) -> ToolResult:
        module = self.module
        return run_tool(who, module, module.tools[tool], arguments, request="r1", batch="b1", options=options)

    def run(self, tool: str, **arguments: Any) -> Any:
        return self.brought(tool, **arguments).json

    def rows(self) -> list[Item]:
        return audit_items("acme")

    def outcomes(self) -> list[str]:
        return [row["outcome"] for row in self.rows()]


def declared(host: str) -> Module:
    scopes = Scopes(reads=("read",), writes=("write",), implied_by={"read": ("write",)})
    module = Module(
        "shop", "A shop.", api_version="1", host=host, open_store=lambda caller: [caller.organization], scopes=scopes
    )

    @module.reads(shows("id"))
    def get_item(item_id: Annotated[str, from_url(ADDRESS, "item_id")]) -> Call:
        """Read one item."""
        return Call("GET", f"/items/{item_id}")

    @module.writes(shows("id"))
    def create_item(name: str) -> Call:
        """Put an item on sale."""
        return Call("POST", "/items", json={"name": name})

    @module.writes(shows("id"))
    def rename_item(item_id: str, name: str) -> Calls:
        """Rename an item."""
        renamed = yield Call("POST", f"/items/{item_id}", json={"name": name})
        return {"id": renamed.json["item"]["id"]}

    @module.reads(shows("id"))
    def list_items() -> Calls:
        """List the items, page after page."""
        first = yield Call("GET", "/items")
        second = yield Call("GET", "/items", {"page": first.json["next"]})
        return first.json["items"] + second.json["items"]

    @module.reads(shows("id"), scopes=("staff",))
    def list_staff() -> Call:
        """List those who work there."""
        return Call("GET", "/staff")

    @module.reads(shows("id"))
    def broken() -> Calls:
        """Fail by a defect."""
        yield Call("GET", "/items")
        raise ZeroDivisionError("defect")

    @module.reads(shows("id"))
    def patient() -> Calls:
        """List the items, and keep those of the first page where the second fails."""
        first = yield Call("GET", "/items")
        try:
            yield Call("GET", "/items", {"page": 2})
        except McpistError as error:
            return PartialList(first.json["items"], f"{error.code}: go on with page=2")

    @module.reads(shows("id"))
    def look(word: str) -> Lookup:
        """Ask a store of our own."""
        return Lookup(lambda store, word: [*store, word], word=word)

    declare_more(module)
    return module


def declare_more(module: Module) -> None:
    @module.reads(
        shows("id", "page_url as url"),
        page_path=lambda item, arguments: f"{arguments['folder']}/{item['id']}" if item["id"] else None,
    )
    def list_pages(folder: str = "/browse") -> Calls:
        """List items with the addresses of their pages."""
        found = (yield Call("GET", "/items", {"in": folder})).json
        return PartialList(found, "there are more") if len(found) > 2 else found

    @module.reads(shows("id"))
    def get_named(name: str) -> Calls:
        """Read an item by its name."""
        found = yield Call("GET", "/items", {"name": name})
        return Call("GET", f"/items/{found.json['id']}")

    @module.writes(shows("id"))
    def upload(content: ContentArgument) -> Calls:
        """Upload a text or a file."""
        answer = yield Call("POST", "/texts", content=content, text=True)
        return {"id": answer.json}

    @module.writes(shows("id"))
    def move_item(item_id: str, shelf: str) -> Calls:
        """Move an item to another shelf."""
        found = (yield Call("GET", f"/items/{item_id}")).json
        put = (yield Call("POST", "/shelves", json={"shelf": shelf}, prepares=True)).json
        yield Call("POST", f"/shelves/{put['id']}/items", json=found)
        return Call("DELETE", f"/items/{item_id}")

    @module.reads(DOWNLOADED)
    def download(item_id: str) -> Call:
        """Download an item's picture."""
        return Call("GET", f"/pictures/{item_id}", download=True)


@pytest.fixture
def vendor(aws: list[str]) -> Iterator[Vendor]:
    with serving() as service:
        vendor = Vendor(service, aws)
        yield vendor
    close_connections()


def test_a_read_brings_the_services_json_and_leaves_one_row(vendor: Vendor) -> None:
    vendor.service.reply_with(json_response({"id": 1}))
    assert vendor.run("get_item", item_id="1") == {"id": 1}
    assert vendor.sent == ["PutItem"]
    (row,) = vendor.rows()
    assert (row["tool"], row["outcome"], row["account"], row["request"], row["batch"]) == (
        "shop.get_item",
        "succeeded",
        "uma@shop",
        "r1",
        "b1",
    )


def test_a_warm_read_costs_one_aws_request(vendor: Vendor) -> None:
    vendor.run("get_item", item_id="1")
    vendor.sent.clear()
    vendor.run("get_item", item_id="1")
    assert vendor.sent == ["PutItem"]
    assert vendor.service.received[-1].headers["authorization"] == "Bearer t1"


def test_a_download_becomes_the_callers_file_and_can_be_sent_on(vendor: Vendor) -> None:
    picture = b"\x89PNG\xff\x00"
    vendor.service.reply_with(Reply(picture, headers={"content-type": "image/png"}), Reply(b"OK"))
    kept = vendor.run("download", item_id="1")
    reference = kept["file"]
    assert (reference["content_type"], reference["size_bytes"], kept["preview"]) == ("image/png", 6, None)
    assert access.load(UMA, reference)[1] == picture
    assert vendor.run("upload", content=reference) == {"id": "OK"}
    sent = vendor.service.received[-1]
    assert (sent.body, sent.headers["content-type"]) == (picture, "image/png")


def test_a_downloaded_text_shows_its_beginning_and_its_end(vendor: Vendor) -> None:
    log = "\n".join(f"line {number}" for number in range(5_000))
    vendor.service.reply_with(Reply(log.encode(), headers={"content-type": "application/octet-stream"}))
    kept = vendor.run("download", item_id="1")
    assert kept["file"]["content_type"] == "text/plain"
    assert kept["preview"].startswith("text: 5,000 lines, 48,889 characters\nbegins:\nline 0\n")
    assert kept["preview"].endswith("\nline 4998\nline 4999")
    assert len(kept["preview"]) < 3_200
    vendor.service.reply_with(Reply(b"a,b\n", headers={"content-type": "text/csv; charset=utf-8"}))
    assert vendor.run("download", item_id="2")["preview"] == "text: 1 lines, 4 characters\nbegins:\na,b\n"


def test_a_write_leaves_its_intent_and_its_outcome(vendor: Vendor) -> None:
    vendor.brought("create_item", who=replace(UMA, client=ClientInfo("code", "1.2", "c-1")), name="a")
    assert vendor.outcomes() == ["started", "succeeded"]
    for row in vendor.rows():
        client = (row["client_name"], row["client_version"], row["client_id"])
        assert (row["account"], *client) == ("uma@shop", "code", "1.2", "c-1")
    assert len(vendor.tokens) == 2  # the broker was asked once


def test_without_its_intent_nothing_is_written(vendor: Vendor) -> None:
    lose_rows("started")
    with pytest.raises(StoreUnavailable):
        vendor.run("create_item", name="a")
    assert vendor.service.received == []


@pytest.mark.parametrize("tool", ["get_item", "create_item"])
def test_a_lost_row_afterwards_neither_loses_nor_hides_the_result(
    vendor: Vendor, tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    lose_rows("succeeded")
    vendor.service.reply_with(json_response({"id": 1}))
    assert vendor.run(tool, **{"item_id": "1"} if tool == "get_item" else {"name": "a"}) == {"id": 1}
    (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.__dict__["metric"] == "AuditRowsLost"


def test_a_lost_row_does_not_hide_why_the_call_failed(vendor: Vendor) -> None:
    lose_rows("TOOL_EXECUTION_ERROR")
    vendor.service.reply_with(json_response({"message": "no"}, 404))
    with pytest.raises(ToolExecutionError):
        vendor.run("get_item", item_id="1")


@pytest.mark.parametrize("tool", ["get_item", "create_item"])
def test_an_answer_without_its_row_is_withheld_where_the_owner_demands_rows(
    vendor: Vendor, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_rows(monkeypatch)
    lose_rows("succeeded")
    vendor.service.reply_with(json_response({"id": 1}))
    with pytest.raises(AnswerWithheld) as withheld:
        vendor.run(tool, **{"item_id": "1"} if tool == "get_item" else {"name": "a"})
    details = withheld.value.as_dict()["details"]
    is_read = tool == "get_item"
    assert (details.get("retryable", False), details.get("may_have_happened", False)) == (is_read, not is_read)


def test_a_write_that_has_not_begun_may_be_tried_again_where_the_owner_demands_rows(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    demand_rows(monkeypatch)
    lose_rows()
    with pytest.raises(StoreUnavailable) as failed:
        vendor.run("create_item", name="a")
    assert failed.value.as_dict()["details"]["retryable"]
    assert vendor.service.received == []


def test_an_error_of_the_service_is_withheld_without_its_row(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    demand_rows(monkeypatch)
    lose_rows("TOOL_EXECUTION_ERROR")
    vendor.service.reply_with(json_response({"message": "no"}, 404))
    with pytest.raises(AnswerWithheld):
        vendor.run("get_item", item_id="1")


def test_a_failure_is_written_into_the_row(vendor: Vendor) -> None:
    vendor.service.reply_with(json_response({"message": "no"}, 404))
    with pytest.raises(ToolExecutionError):
        vendor.run("get_item", item_id="1")
    assert vendor.outcomes() == ["TOOL_EXECUTION_ERROR"]


def test_a_defect_is_not_written_down_as_a_success(vendor: Vendor) -> None:
    with pytest.raises(ZeroDivisionError):
        vendor.run("broken")
    assert vendor.outcomes() == ["INTERNAL_ERROR"]


def test_a_write_whose_answer_has_another_shape_is_not_to_be_sent_again(vendor: Vendor) -> None:
    vendor.service.reply_with(json_response({"id": 1}))
    with pytest.raises(UpstreamUnavailable, match="JSON of another shape") as error:
        vendor.run("rename_item", item_id="1", name="b")
    assert "retryable" not in error.value.as_dict()["details"]
    vendor.service.reply_with(json_response([]))
    with pytest.raises(UpstreamUnavailable) as error:
        vendor.run("list_items")
    assert error.value.as_dict()["details"]["retryable"]


BUSY = Reply(b"", 429, headers={"retry-after": "9"})
FOUND = json_response({"id": 1})


@pytest.mark.parametrize("refused", [BUSY, json_response({"message": "no"}, 404), Reply(b"", 401)])
def test_a_tool_that_fails_after_a_write_may_have_changed_something(vendor: Vendor, refused: Reply) -> None:
    vendor.service.reply_with(FOUND, FOUND, FOUND, refused, refused)
    with pytest.raises(McpistError) as raised:
        vendor.run("move_item", item_id="1", shelf="a")
    details = raised.value.as_dict()["details"]
    assert details["may_have_happened"]
    assert "retryable" not in details


@pytest.mark.parametrize("answered", [0, 1, 2])
def test_a_tool_that_fails_before_its_first_write_may_be_repeated(vendor: Vendor, answered: int) -> None:
    vendor.service.reply_with(*[FOUND] * answered, BUSY)
    with pytest.raises(RateLimitExceeded) as raised:
        vendor.run("move_item", item_id="1", shelf="a")
    assert raised.value.as_dict()["details"]["retryable"]


@pytest.mark.parametrize("answer", [[], "text", 7, {"items": []}, {"next": "b"}])
def test_json_of_another_shape_is_the_services_fault(
    vendor: Vendor, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    vendor.service.reply_with(json_response(answer))
    with pytest.raises(UpstreamUnavailable, match="JSON of another shape"):
        vendor.run("list_items")
    assert vendor.outcomes() == ["UPSTREAM_UNAVAILABLE"]
    assert "answer of another shape" in caplog.text


def test_wrong_arguments_send_nothing(vendor: Vendor) -> None:
    with pytest.raises(InvalidArguments):
        vendor.run("create_item")
    assert vendor.sent == []
    assert vendor.service.received == []


def test_a_refused_token_is_resolved_again_once(vendor: Vendor) -> None:
    vendor.service.reply_with(Reply(b"", 401), json_response({"id": 1}))
    assert vendor.run("get_item", item_id="1") == {"id": 1}
    assert [asked.headers["authorization"] for asked in vendor.service.received] == ["Bearer t1", "Bearer t2"]


def test_a_token_refused_twice_must_be_connected_again(vendor: Vendor) -> None:
    vendor.service.reply_with(json_response({"message": "Bad credentials"}, 401))
    with pytest.raises(ReconnectRequired) as refused:
        vendor.run("get_item", item_id="1")
    assert refused.value.details["url"] == "https://mcp.example.com/connect/shop?organization=acme&user=uma"
    assert refused.value.details["problem"] == "Bad credentials"
    assert len(vendor.service.received) == 2
    assert vendor.outcomes() == ["RECONNECT_REQUIRED"]


@pytest.mark.parametrize(
    ("tool", "arguments", "granted", "lacks"),
    [
        ("create_item", {"name": "x"}, ["read"], "write"),
        ("get_item", {"item_id": "1"}, ["staff"], "read"),
        ("list_staff", {}, ["write"], "staff"),
    ],
)
def test_what_was_not_granted_is_missing_before_anything_is_sent(
    vendor: Vendor, tool: str, arguments: dict[str, Any], granted: list[str], lacks: str
) -> None:
    vendor.scopes = granted
    with pytest.raises(ScopeMissing) as missing:
        vendor.run(tool, **arguments)
    assert missing.value.details == {
        "service": "shop",
        "scope": lacks,
        "url": "https://mcp.example.com/connect/shop?organization=acme&user=uma",
    }
    assert vendor.service.received == []
    assert vendor.rows()[-1]["account"] == "uma@shop"


def test_after_a_missing_scope_the_account_is_resolved_again(vendor: Vendor) -> None:
    vendor.scopes = ["read"]
    with pytest.raises(ScopeMissing):
        vendor.run("create_item", name="x")
    vendor.scopes = ["write"]
    assert vendor.run("create_item", name="x") == {}


@pytest.mark.parametrize("granted", [["write"], []])
def test_what_is_included_and_what_is_not_known_is_left_to_the_service(vendor: Vendor, granted: list[str]) -> None:
    vendor.scopes = granted
    assert vendor.run("get_item", item_id="1") == {}


def test_without_an_account_nothing_is_sent(vendor: Vendor) -> None:
    vendor.tokens = [ConnectionRequired(service="shop", url="https://x")]
    with pytest.raises(ConnectionRequired):
        vendor.run("get_item", item_id="1")
    assert vendor.service.received == []
    assert vendor.outcomes() == ["CONNECTION_REQUIRED"]


def test_a_token_that_is_refused_in_a_200_is_resolved_afresh_once(vendor: Vendor) -> None:
    vendor.module.refusals = Refusals(lambda response: TokenRefused() if response.json["ok"] is False else None)
    refused = json_response({"ok": False, "error": "not_authed"})
    vendor.service.reply_with(refused, json_response({"ok": True}))
    assert vendor.run("get_item", item_id="1") == {"ok": True}
    assert [asked.headers["authorization"] for asked in vendor.service.received] == ["Bearer t1", "Bearer t2"]
    vendor.service.reply_with(refused)
    with pytest.raises(ReconnectRequired) as error:
        vendor.run("get_item", item_id="1")
    assert error.value.details["problem"] == "not_authed"


def test_an_account_is_resolved_in_the_roles_that_allow_the_tool(vendor: Vendor) -> None:
    readers, writers = Role("readers", modules=("shop",)), Role("writers", modules=("shop",), allow=("shop.create_*",))
    both = replace(UMA, roles=(readers, writers))
    vendor.service.reply_with(json_response({"id": 1}), json_response({"id": 2}))
    vendor.brought("get_item", who=both, item_id="1")
    assert vendor.roles == ["readers", "writers"]
    vendor.brought("create_item", who=both, name="lamp")
    assert vendor.roles == ["writers"]


def test_several_calls_are_one_conversation(vendor: Vendor) -> None:
    vendor.service.reply_with(json_response({"items": [1], "next": "b"}), json_response({"items": [2]}))
    assert vendor.run("list_items") == [1, 2]
    assert [asked.path for asked in vendor.service.received] == ["/items", "/items?page=b"]


def test_a_conversation_that_ends_in_a_request_has_its_answer(vendor: Vendor) -> None:
    vendor.service.reply_with(json_response({"id": 7}), json_response({"id": 7, "price": 3}))
    assert vendor.run("get_named", name="pen") == {"id": 7, "price": 3}
    assert [asked.path for asked in vendor.service.received] == ["/items?name=pen", "/items/7"]


def test_a_text_is_sent_as_it_is_and_may_be_answered_with_text(vendor: Vendor) -> None:
    vendor.service.reply_with(Reply("OK: é".encode()))
    assert vendor.run("upload", content="文\n") == {"id": "OK: é"}
    (asked,) = vendor.service.received
    assert (asked.body, asked.headers["content-type"]) == ("文\n".encode(), "text/plain")


@pytest.mark.parametrize("more", [[], [{"id": 3}]], ids=["all", "cut"])
def test_items_have_the_addresses_of_their_pages_at_the_account_s_site(vendor: Vendor, more: list[Any]) -> None:
    vendor.site_url = "https://acme.example.com/"
    vendor.service.reply_with(json_response([{"id": 7}, {"id": 0}, *more]))
    first, second, *_ = vendor.run("list_pages")
    assert first == {"id": 7, "page_url": "https://acme.example.com/browse/7"}
    assert second == {"id": 0}


def test_an_address_at_another_site_than_the_accounts_is_refused_before_any_request(vendor: Vendor) -> None:
    vendor.site_url = "https://acme.example.com/"
    with pytest.raises(InvalidRequest, match=r"at another site than the connected account"):
        vendor.run("get_item", item_id="https://other.example.com/browse/7")
    assert (vendor.service.received, vendor.outcomes()) == ([], ["VALIDATION_ERROR"])
    vendor.service.reply_with(json_response({"id": 7}))
    assert vendor.run("get_item", item_id="https://ACME.example.com/browse/7") == {"id": 7}


def test_an_account_without_a_site_has_no_addresses(vendor: Vendor) -> None:
    vendor.service.reply_with(json_response([{"id": 7}]))
    assert vendor.run("list_pages") == [{"id": 7}]


def test_a_list_that_ends_early_says_how_to_read_the_rest(vendor: Vendor) -> None:
    vendor.service.reply_with(json_response({"items": [1]}), json_response({"message": "no"}, 404))
    assert vendor.brought("patient") == ToolResult([1], "TOOL_EXECUTION_ERROR: go on with page=2", "uma@shop")
    assert vendor.outcomes() == ["succeeded"]
    vendor.service.reply_with(json_response({"items": [1]}), Reply(b"", 401))
    assert vendor.brought("patient").more == "RECONNECT_REQUIRED: go on with page=2"


def test_an_error_that_no_generator_keeps_ends_the_tool(vendor: Vendor) -> None:
    vendor.service.reply_with(json_response({"items": [1], "next": "b"}), json_response({"message": "no"}, 404))
    with pytest.raises(ToolExecutionError, match="answered 404: no"):
        vendor.run("list_items")
    assert vendor.outcomes() == ["TOOL_EXECUTION_ERROR"]


def test_the_callers_options_reach_the_service(vendor: Vendor) -> None:
    vendor.service.reply_with(Reply(b"", 502), json_response({"id": 1}))
    brought = vendor.brought("get_item", RunOptions(retry=1, retry_delay=0), item_id="1")
    assert brought == ToolResult({"id": 1}, account="uma@shop")
    vendor.service.reply_with(Reply(b"", 502), json_response({"id": 1}))
    with pytest.raises(UpstreamUnavailable):
        vendor.brought("create_item", RunOptions(retry=1, retry_delay=0), name="a")


def test_the_invocation_bounds_the_work(vendor: Vendor) -> None:
    tool = vendor.module.tools["list_items"]
    vendor.service.reply_with(json_response({"items": [1], "next": "b"}), Reply(b"", length=1, waits=True))
    with pytest.raises(Timeout):
        run_tool(UMA, vendor.module, tool, {}, request="r1", seconds=0.2)
    with pytest.raises(Timeout):
        run_tool(UMA, vendor.module, tool, {}, request="r1", seconds=-1)


def test_a_lookup_asks_the_organizations_own_store_and_no_broker(vendor: Vendor) -> None:
    assert vendor.run("look", word="x") == ["acme", "x"]
    assert vendor.sent == ["PutItem"]


def test_a_write_that_the_service_answers_with_nothing_is_done(vendor: Vendor) -> None:
    vendor.service.reply_with(Reply(b"", 204))
    assert vendor.run("create_item", name="chair") == {"done": True}


class Server:
    """An upstream MCP server behind a category."""

    def call(self, _: Caller, work: ProxiedCall, **__: Any) -> ProxiedResponse:
        """Answer with the tool's name."""
        return ProxiedResponse({"tool": work.tool}, {})


@pytest.mark.parametrize(("effect", "outcomes"), [("reads", ["succeeded"]), ("writes", ["started", "succeeded"])])
def test_the_rows_of_an_upstream_tool_name_the_account_that_acts(
    vendor: Vendor, effect: Effect, outcomes: list[str]
) -> None:
    server: Any = Server()
    category = Module("office", "A category.", api_version="1", upstream=server)
    described = mcp_types.Tool(name="read_file", input_schema={"type": "object"})
    tool = UpstreamTool(module="office", effect=effect, given=described, server="serena", service="shop")
    result = run_tool(UMA, category, tool, {}, request="r1", batch="b1")
    assert (result.json, result.account) == ({"tool": "read_file"}, "uma@shop")
    assert [(row["outcome"], row["account"]) for row in vendor.rows()] == [(each, "uma@shop") for each in outcomes]


class MaskingTool(DeclaredTool):
    """A tool whose answers hold a secret."""

    def masked(self, json: Any) -> Any:
        return json.replace("canary", "[masked]") if isinstance(json, str) else {**json, "token": "[masked]"}


def test_the_secrets_of_an_answer_are_masked_before_it_is_kept(vendor: Vendor) -> None:
    tool = vendor.module.tools["get_item"]
    vendor.module.tools["get_item"] = MaskingTool(**{one.name: getattr(tool, one.name) for one in fields(tool)})
    vendor.service.reply_with(json_response({"id": "1", "token": "canary"}))
    assert vendor.run("get_item", item_id="1") == {"id": "1", "token": "[masked]"}
    vendor.service.reply_with(json_response({"message": "the key canary is unknown"}, status=422))
    with pytest.raises(McpistError) as raised:
        vendor.run("get_item", item_id="1")
    assert raised.value.details["problem"] == "the key [masked] is unknown"
