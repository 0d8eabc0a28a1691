import io
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import pytest

from mcpist.aws import clients
from mcpist.caller import Caller, Proof, Role
from mcpist.errors import McpistError, ReconnectRequired, ToolExecutionError, to_message
from mcpist.render.shows import shows
from mcpist.running import broker
from mcpist.running.accounts import Account
from mcpist.running.broker import Credential
from mcpist.running.cache import MAX_CACHE_BYTES, MAX_CACHED_RESPONSES, ResponseCache, response_cache
from mcpist.running.run import run_tool
from mcpist.settings import settings
from mcpist.tools.declare.call import Call, Calls, ServiceResponse
from mcpist.tools.declare.module import Module
from tests.core.loopback import Reply, Service, close_connections, json_response, serving
from tests.core.sample import caller

UMA: Caller = replace(caller(Role("members")), proof=Proof("jwt", "uma"))
ADA: Caller = replace(UMA, user="ada", proof=Proof("jwt", "ada"))
GLOBEX: Caller = replace(UMA, organization="globex")
OWN = Credential("t1", account_id="7", account_name="uma@shop", owner="user#uma", expires_at=None)


# -- one sandbox, as tools use it -----------------------------------------------------------------------


class Shop:
    """A service, its tools that may be cached, and the credentials that the broker has for each person."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.credentials: dict[str, Any] = {"uma": OWN, "ada": replace(OWN, token="t2", owner="user#ada")}
        self.module = declared(service.url)
        clients.session().register("before-call.lambda.Invoke", self.resolve)

    def resolve(self, params: Any, **_: Any) -> Any:
        found = self.credentials[json.loads(params["body"])["proof"]["value"]]
        known = isinstance(found, Credential)
        answer = {"result": asdict(found)} if known else {"error": to_message(found)}
        payload = {"Payload": io.BytesIO(json.dumps(answer).encode()), "ResponseMetadata": {"RequestId": "i1"}}
        return type("Response", (), {"status_code": 200}), payload

    def run(self, tool: str, caller: Caller = UMA, **arguments: Any) -> Any:
        return run_tool(caller, self.module, self.module.tools[tool], arguments, request="r1").json

    @property
    def asked(self) -> int:
        return len(self.service.received)


def declared(host: str) -> Module:
    module = Module("shop", "A shop.", api_version="1", host=host)

    @module.reads(shows("id"), cache_seconds=60)
    def get_item(item_id: int = 1) -> Call:
        """Read one item."""
        return Call("GET", f"/items/{item_id}", {"fields": "all"})

    @module.reads(shows("id"), cache_seconds=60)
    def search_items(word: str) -> Call:
        """Search by a POST."""
        return Call("POST", "/search", json={"word": word})

    @module.reads(shows("id"), cache_seconds=60)
    def two_items() -> Calls:
        """Read two items."""
        first = yield Call("GET", "/items/1", {"fields": "all"})
        second = yield Call("GET", "/items/2")
        return [first.json, second.json]

    @module.reads(shows("id"))
    def get_stock() -> Call:
        """Read what changes too often."""
        return Call("GET", "/items/1", {"fields": "all"})

    @module.reads(shows("key"), cache_seconds=60, reveals=True)
    def get_key() -> Call:
        """Read a secret."""
        return Call("GET", "/key")

    @module.writes(shows("id"))
    def create_item() -> Call:
        """Put an item on sale."""
        return Call("POST", "/items")

    @module.destroys(shows("id"))
    def delete_item() -> Call:
        """Remove an item."""
        return Call("POST", "/items/1/delete")

    return module


@pytest.fixture
def shop(aws: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:  # noqa: ARG001 - moto keeps the audit
    monkeypatch.setenv("RESPONSE_CACHE", "on")
    with serving() as service:
        yield Shop(service)
    close_connections()


@pytest.mark.parametrize("arguments", [{"tool": "get_item"}, {"tool": "search_items", "word": "a"}])
def test_a_read_that_repeats_is_answered_from_memory(shop: Shop, arguments: dict[str, Any]) -> None:
    shop.service.reply_with(json_response({"id": 1}), json_response({"id": 2}))
    assert [shop.run(**arguments), shop.run(**arguments)] == [{"id": 1}, {"id": 1}]
    assert shop.asked == 1


def test_each_request_of_a_tool_is_cached_apart(shop: Shop) -> None:
    shop.service.reply_with(json_response({"id": 1}), json_response({"id": 2}))
    shop.run("get_item")
    assert shop.run("two_items") == shop.run("two_items") == [{"id": 1}, {"id": 2}]
    assert shop.asked == 2


@pytest.mark.parametrize("value", ["off", "", "true"])
def test_it_is_off_unless_the_setting_says_on(shop: Shop, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("RESPONSE_CACHE", value)
    settings.cache_clear()
    shop.run("get_item")
    shop.run("get_item")
    assert shop.asked == 2


@pytest.mark.parametrize("tool", ["get_stock", "get_key"])
def test_a_tool_that_does_not_allow_it_or_reveals_secrets_asks_each_time(shop: Shop, tool: str) -> None:
    shop.run("get_item")
    shop.run(tool)
    shop.run(tool)
    assert shop.asked == 3


def test_two_accounts_never_see_each_others_answers(shop: Shop) -> None:
    shop.service.reply_with(
        json_response({"of": "uma"}),
        json_response({"of": "ada"}),
        json_response({"of": "globex"}),
        json_response({"of": "new"}),
    )
    assert [shop.run("get_item", who)["of"] for who in (UMA, ADA, GLOBEX)] == ["uma", "ada", "globex"]
    shop.credentials["uma"] = replace(OWN, account_id="8")
    broker.credential_cache.clear()
    assert shop.run("get_item")["of"] == "new"
    assert shop.run("get_item", ADA)["of"] == "ada"


def test_two_accounts_of_one_owner_share_no_answer_even_where_the_service_names_none(shop: Shop) -> None:
    shop.service.reply_with(json_response({"of": "main"}), json_response({"of": "work"}))
    unnamed = replace(OWN, account_id="")
    shop.credentials["uma"] = unnamed
    assert shop.run("get_item")["of"] == "main"
    shop.credentials["uma"] = replace(unnamed, label="work", token="t2")
    assert shop.run("get_item", replace(UMA, account="work"))["of"] == "work"


def test_people_who_act_by_the_same_shared_account_share_its_answers(shop: Shop) -> None:
    shared = replace(OWN, owner="role#members")
    shop.credentials = {"uma": shared, "ada": shared}
    shop.run("get_item")
    shop.run("get_item", ADA)
    assert shop.asked == 1


def test_a_user_without_a_grant_gets_nothing_from_the_cache(shop: Shop) -> None:
    shop.run("get_item")
    shop.credentials["uma"] = ReconnectRequired(service="shop", url="https://x")
    broker.credential_cache.clear()  # as after its minute
    with pytest.raises(ReconnectRequired):
        shop.run("get_item")


def test_a_response_is_cached_for_the_account_that_got_it(shop: Shop) -> None:
    shop.service.reply_with(Reply(b"", 401), json_response({"of": "shared"}), json_response({"of": "uma"}))
    broker.resolve(UMA, "shop")
    shop.credentials["uma"] = replace(OWN, token="t3", owner="role#members")
    assert shop.run("get_item") == shop.run("get_item") == {"of": "shared"}
    shop.credentials["uma"] = OWN
    broker.credential_cache.clear()
    assert shop.run("get_item") == {"of": "uma"}


@pytest.mark.parametrize("tool", ["create_item", "delete_item"])
@pytest.mark.parametrize("status", [201, 422])
def test_a_tool_that_changes_something_empties_its_module_even_if_it_fails(shop: Shop, tool: str, status: int) -> None:
    shop.run("get_item")
    shop.run("get_item", GLOBEX)
    shop.service.reply_with(json_response({}, status))
    if status == 201:
        shop.run(tool)
    else:
        with pytest.raises(ToolExecutionError):
            shop.run(tool)
    shop.service.reply_with(json_response({"id": 2}))
    assert shop.run("get_item") == {"id": 2}
    assert shop.run("get_item", GLOBEX) == {}
    assert shop.asked == 1


def test_a_failure_is_not_cached(shop: Shop) -> None:
    shop.service.reply_with(json_response({"message": "no"}, 404), json_response({"id": 1}))
    with pytest.raises(McpistError):
        shop.run("get_item")
    assert shop.run("get_item") == {"id": 1}


def test_an_expired_answer_is_confirmed_by_its_tag_and_lives_again(shop: Shop) -> None:
    shop.service.reply_with(
        json_response({"id": 1}, etag='W/"a"'), Reply(b"", 304), json_response({"id": 2}, etag='W/"b"')
    )
    shop.run("get_item")
    expire()
    assert shop.run("get_item") == {"id": 1}
    assert shop.service.received[1].headers["if-none-match"] == 'W/"a"'
    assert shop.run("get_item") == {"id": 1}
    assert shop.asked == 2
    expire()
    assert shop.run("get_item") == {"id": 2}
    expire()
    shop.service.reply_with(Reply(b"", 304))
    assert shop.run("get_item") == {"id": 2}
    assert shop.service.received[0].headers["if-none-match"] == 'W/"b"'


def test_an_expired_response_without_a_tag_or_to_a_post_is_requested_again(shop: Shop) -> None:
    shop.service.reply_with(json_response({"id": 1}), json_response({"id": 2}, etag='"a"'))
    shop.run("get_item")
    expire()
    assert shop.run("get_item") == {"id": 2}
    shop.run("search_items", word="a")
    expire()
    shop.run("search_items", word="a")
    assert not any("if-none-match" in asked.headers for asked in shop.service.received)


def expire() -> None:
    for key in response_cache:
        cached = response_cache.get(key)
        assert cached
        response_cache.put(key, replace(cached, fresh_until=cached.fresh_until - 60))


# -- the memory itself --------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


ITEM = Call("GET", "/items/1")
MODULE = Module("shop", "A shop.", api_version="1", host="https://shop.example")
ACCOUNT = Account("acme", MODULE, OWN)


def found(memory: ResponseCache, call: Call = ITEM, account: Account = ACCOUNT) -> Any:
    kept = memory.find(account, call)
    return kept.copy().json if kept and memory.is_fresh(kept) else None


def test_an_answer_lives_for_the_tools_time_and_not_longer() -> None:
    clock = Clock()
    memory = ResponseCache(clock)
    memory.store(ACCOUNT, ITEM, ServiceResponse(200, {}, "a"), 30)
    clock.now += 29.9
    assert found(memory) == "a"
    clock.now += 0.1
    assert found(memory) is None
    clock.now -= 60  # a clock that was set back
    assert found(memory) is None


@pytest.mark.parametrize(
    "other",
    [
        replace(ITEM, method="POST"),
        replace(ITEM, origin="https://other.example"),
        replace(ITEM, path="/items/2"),
        replace(ITEM, query={"page": 2}),
        replace(ITEM, json={"a": 1}),
        replace(ITEM, headers={"apikey": "k"}),
    ],
)
def test_a_call_that_differs_anywhere_is_another(other: Call) -> None:
    memory = ResponseCache()
    memory.store(ACCOUNT, ITEM, ServiceResponse(200, {}, "a"), 30)
    assert found(memory, other) is None
    assert found(memory, replace(ITEM)) == "a"


@pytest.mark.parametrize(
    "other",
    [
        replace(ACCOUNT, organization="globex"),
        replace(ACCOUNT, module=Module("other", "Another.", api_version="1", host="https://shop.example")),
        replace(ACCOUNT, credential=replace(OWN, owner="user#ada")),
        replace(ACCOUNT, credential=replace(OWN, account_id="8")),
        replace(ACCOUNT, credential=None),
    ],
)
def test_an_account_that_differs_anywhere_is_another(other: Account) -> None:
    memory = ResponseCache()
    memory.store(ACCOUNT, ITEM, ServiceResponse(200, {}, "a"), 30)
    assert found(memory, account=other) is None
    refreshed = replace(ACCOUNT, credential=replace(OWN, token="t9", expires_at=1))
    assert found(memory, account=refreshed) == "a"


def test_a_module_without_grants_keeps_answers_by_organization() -> None:
    memory = ResponseCache()
    nobody = Account("acme", MODULE, None)
    memory.store(nobody, ITEM, ServiceResponse(200, {}, "a"), 30)
    assert found(memory, account=Account("acme", MODULE, None)) == "a"
    assert found(memory, account=Account("globex", MODULE, None)) is None


def test_whoever_changes_an_answer_changes_no_other() -> None:
    memory = ResponseCache()
    brought = ServiceResponse(200, {"link": "<x>"}, {"items": [1]})
    memory.store(ACCOUNT, ITEM, brought, 30)
    brought.json["items"].append(2)
    kept = memory.find(ACCOUNT, ITEM)
    assert kept
    first = kept.copy()
    assert first.json == {"items": [1]}
    first.json["items"].clear()
    first.headers.clear()  # type: ignore[attr-defined]
    assert (kept.copy().json, kept.copy().headers) == ({"items": [1]}, {"link": "<x>"})


def test_the_oldest_answers_go_first() -> None:
    memory = ResponseCache()
    for number in range(MAX_CACHED_RESPONSES):
        memory.store(ACCOUNT, replace(ITEM, path=f"/{number}"), ServiceResponse(200, {}, number), 30)
    memory.store(ACCOUNT, replace(ITEM, path="/0"), ServiceResponse(200, {}, 0), 30)
    memory.store(ACCOUNT, ITEM, ServiceResponse(200, {}, "new"), 30)
    assert found(memory, replace(ITEM, path="/0")) == 0
    assert found(memory, replace(ITEM, path="/1")) is None
    assert found(memory) == "new"
    assert len(memory) == MAX_CACHED_RESPONSES


def test_no_more_than_sixteen_megabytes_are_cached() -> None:
    memory = ResponseCache()
    part = "x" * (MAX_CACHE_BYTES // 4)
    for number in range(4):
        memory.store(ACCOUNT, replace(ITEM, path=f"/{number}"), ServiceResponse(200, {}, part), 30)
    assert [bool(found(memory, replace(ITEM, path=f"/{number}"))) for number in range(4)] == [False, True, True, True]
    memory.store(ACCOUNT, replace(ITEM, path="/3"), ServiceResponse(200, {}, "short"), 30)
    memory.store(ACCOUNT, ITEM, ServiceResponse(200, {}, "x" * MAX_CACHE_BYTES), 30)
    assert found(memory) is None
    assert found(memory, replace(ITEM, path="/3")) == "short"


@pytest.mark.parametrize("status", [201, 202, 204])
def test_an_incomplete_response_is_not_cached(status: int) -> None:
    memory = ResponseCache()
    memory.store(ACCOUNT, ITEM, ServiceResponse(status, {}, "a"), 30)
    assert found(memory) is None


def test_a_change_empties_before_and_after_for_its_organization_and_module_alone() -> None:
    memory = ResponseCache()
    others = [replace(ACCOUNT, organization="globex"), replace(ACCOUNT, module=Module("other", "", api_version="1"))]
    for account in (ACCOUNT, *others):
        memory.store(account, ITEM, ServiceResponse(200, {}, "a"), 30)
    with memory.invalidating(("acme", "shop")):
        assert found(memory) is None
        memory.store(ACCOUNT, ITEM, ServiceResponse(200, {}, "stale"), 30)
    assert found(memory) is None
    assert [found(memory, account=account) for account in others] == ["a", "a"]


def test_no_secret_is_in_a_key() -> None:
    memory = ResponseCache()
    memory.store(ACCOUNT, replace(ITEM, headers={"apikey": "s3cret"}), ServiceResponse(200, {}, "a"), 30)
    assert "s3cret" not in str(list(memory))
