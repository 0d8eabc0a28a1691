"""Every entrance decides the same: calls, batches, their steps, categories, resources, prompts and completions.

They are entered by MCP, its address for reading, REST, the step runner and the pages' form that tries a tool.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from console.sign_in.sessions import OpenSession
from console.tools.trying import try_tool
from console.visit import Visit
from infra.local.login import LocalLogin
from mcpist.aws.attributes import Item
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Entry, Header
from mcpist.batch_id import new_batch_id
from mcpist.caller import Policies, Role, Subject
from mcpist.errors import McpistError, from_message
from mcpist.http.browser import BrowserRequest
from mcpist.people import directory
from mcpist.people.organization import KnownSubject, Organization, User
from mcpist_services.catalogue import CATALOGUE
from step_runner.handler import handler as step_runner
from tests import members
from tests.examples import examples
from tests.lambda_context import Context
from tests.mcp_endpoint.endpoint_client import EVENTS, EndpointClient
from tests.rest_api.rest_client import RestClient
from tests.upstreams.configured import READS, configured

PERMITTED = "permitted"
REFUSALS = {
    **dict.fromkeys(("", "VALIDATION_ERROR", "ValidationError", "FILE_NOT_FOUND"), PERMITTED),
    "AUTHORIZATION_ERROR": "AUTHORIZATION_ERROR",
    "TOOL_DISABLED": "TOOL_DISABLED",
    "ToolDisabled": "TOOL_DISABLED",
}
WRONG = {"no_such_argument": 1}
"""Arguments with which no tool runs, so that an answer shows the decision alone."""

RIGHT = {
    "get_doc": {"path": "a.md"},
    "put_doc": {"path": "a.md", "content": "a"},
    "delete_doc": {"path": "a.md"},
}
"""Arguments with which a tool runs, where it needs any."""
NAMED = '[Action::"rag.*", Action::"serena.fs.*"]'

UPSTREAM_TOOLS = ("read_file", "wipe")
NOTHING = {"type": "object", "additionalProperties": False}
SCRIPT = {
    "tools": [
        {"name": "read_file", "description": "Read", "inputSchema": NOTHING, "annotations": READS},
        {"name": "wipe", "description": "Wipe", "inputSchema": NOTHING},
    ]
}
FILES = {"description": "Files", "server": "serena", "tools": {"includeNames": list(UPSTREAM_TOOLS)}}
MASKS = ("*", "rag.*", "rag.put_doc", "*.delete_doc", "rag.get_doc", "serena.fs.*", "serena.fs.wipe")
# A category that is off as a whole is not read, so nobody knows which of its tools a role would have.
SWITCHES = ("rag", "rag.*", "rag.put_doc", "*.delete_doc", "serena.fs.wipe")

type Clients = tuple[EndpointClient, RestClient]
type Entrance = Callable[..., str]


@dataclass(frozen=True)
class Tool:
    """What a decision depends on, as this file knows it."""

    needs_allow: bool
    destroys: bool
    reads: bool = False


READ, WRITE, DESTROY = Tool(False, False, reads=True), Tool(True, False), Tool(True, True)
FOREIGN_READ = Tool(True, False, reads=True)
TOOLS: Mapping[str, Mapping[str, Tool]] = {
    "rag": {
        **dict.fromkeys(("search_docs", "get_doc", "list_docs", "list_docs_by_date", "list_tags"), READ),
        "put_doc": WRITE,
        "delete_doc": DESTROY,
    },
    "serena.fs": {
        "read_file": FOREIGN_READ,
        "wipe": DESTROY,
    },  # an upstream's tool needs a mask, whatever its server says
}
TRIED = [("rag", tool) for tool in ("list_tags", "get_doc", "put_doc", "put_doc", "delete_doc")]
TRIED += [("serena.fs", tool) for tool in TOOLS["serena.fs"]]
PROMPTS = {"get_doc": "summarise_document", "put_doc": "revise_document"}
MATERIALS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("resource", "get_doc"): ("get_doc", "resources.document"),
    **dict.fromkeys((("prompt", "get_doc"), ("completion", "get_doc")), ("get_doc", "prompts.summarise_document")),
    **dict.fromkeys(
        (("prompt", "put_doc"), ("completion", "put_doc")), ("get_doc", "put_doc", "prompts.revise_document")
    ),
}
"""The tools of resources and prompts, and the names by which masks know these themselves."""


def call(clients: Clients, module: str, tool: str) -> str:
    return of_tool(clients[0].request("tools/call", name="call", arguments=use(module, tool)))


def batch(clients: Clients, module: str, tool: str) -> str:
    plan = {"commands": json.dumps(use(module, tool)), "dry_run": True}
    return of_tool(clients[0].request("tools/call", name="batch", arguments=plan))


def category(clients: Clients, module: str, tool: str) -> str:
    proxy, arguments = clients[0].at("/mcp/categories"), {"category": module, "name": tool, "args": WRONG}
    return of_tool(proxy.request("tools/call", name="call-category-tool", arguments=arguments))


def resource(clients: Clients, *_: str) -> str:
    return of_request(clients[0].request("resources/read", uri="rag://docs/a.md"))


def prompt(clients: Clients, module: str, tool: str) -> str:
    arguments = {"path": "a.md", "change": "All"}
    return of_request(clients[0].request("prompts/get", name=f"{module}.{PROMPTS[tool]}", arguments=arguments))


def completion(clients: Clients, module: str, tool: str) -> str:
    reference = {"type": "ref/prompt", "name": f"{module}.{PROMPTS[tool]}"}
    return of_request(clients[0].request("completion/complete", ref=reference, argument={"name": "path", "value": "a"}))


def rest_call(clients: Clients, module: str, tool: str) -> str:
    return decision(clients[1].call(f"{module}.{tool}", parameters=WRONG).json["code"])


def rest_batch(clients: Clients, module: str, tool: str) -> str:
    return decision(clients[1].post("/v1/batches", {"commands": [use(module, tool)], "dry_run": True}).json["code"])


def reading_call(clients: Clients, module: str, tool: str) -> str:
    return of_tool(clients[0].at("/mcp/readonly").request("tools/call", name="call", arguments=use(module, tool)))


def step(caller: Subject, organization: str, role: str, module: str, tool: str) -> str:
    """Return the decision about a step of a batch that was begun when the caller had these roles."""
    fixed: Any = {"line": 1, "has_explicit_id": True, "output": True}
    one = Step(id="one", module=module, tool=tool, params=WRONG, **fixed)
    head = Header(
        organization=organization,
        batch=new_batch_id(),
        user="eve",
        subject=caller,
        roles=(role,) if role else (),
        warrant="",
        ids=("one",),
        needs=(frozenset(),),
        started_at=time.time(),
        closes_at=time.time() + 300,
        expires_at=time.time() + 600,
    )
    ledger.write(head, [Entry(0, one, "reads")])
    event = json.loads((EVENTS / "step_runner_step.json").read_text("utf-8"))
    step_runner({**event, "batch": head.pk, "started": datetime.now(UTC).isoformat()}, Context())
    (entry,) = ledger.get_entries(head.pk, [0])
    return decision(from_message(entry.error).code if entry.error else "")


def tried(caller: Subject, organization: str, module: str, tool: str) -> str:
    """Return the decision about a tool that is tried at the pages."""
    event = json.loads((EVENTS / "console_home.json").read_text("utf-8"))
    session = OpenSession(organization, "eve", caller, "id", 0, 0, "")
    try:
        who = directory.identify(caller, organization=organization)
        visit = Visit("request-1", time.monotonic() + 29, BrowserRequest(event), session, who, "")
        trial = try_tool(visit, CATALOGUE.module(module).tools[tool], [])
    except McpistError as error:
        return decision(error.code)
    return decision(trial.error.code if trial.error else "")


ENTRANCES: tuple[Entrance, ...] = (call, batch, rest_call, rest_batch)


def entrances(module: str, tool: str) -> Iterator[Entrance]:
    """Yield the entrances that lead to a tool."""
    yield from ENTRANCES
    if module not in CATALOGUE.names:
        yield category
    if tool == "get_doc":
        yield resource
    if tool in PROMPTS:
        yield from (prompt, completion)


def use(module: str, tool: str) -> dict[str, Any]:
    return {"module": module, "tool": tool, "params": WRONG}


def of_tool(answer: dict[str, Any]) -> str:
    """Return the decision of a tool's result, or of an answer that names no tool."""
    if "result" not in answer:
        return of_request(answer)
    assert answer["result"]["isError"], "no tool takes these arguments"
    error = json.loads(answer["result"]["content"][0]["text"])
    return decision(error.get("code") or error["error"]["type"])


def of_request(answer: dict[str, Any]) -> str:
    error = answer.get("error", {})
    return decision(error.get("data", error).get("code", ""))


def decision(code: str) -> str:
    return REFUSALS.get(code, code)


def expected(organization: Organization, roles: list[Role], module: str, names: tuple[str, ...]) -> str:
    """Return what the rules say of the uses of some tools: the rules again, told in another way."""
    for name in names:
        has = [role for role in roles if module in role.modules]
        reachable = {other for other in (*TOOLS[module], name) if any(grants(role, module, other) for role in has)}
        on = {other for other in reachable if not is_off(organization, module, other)}
        if not reachable:
            return "AUTHORIZATION_ERROR"
        if not on:
            return "TOOL_DISABLED"
        if name not in reachable:
            return "AUTHORIZATION_ERROR"
        if name not in on:
            return "TOOL_DISABLED"
    return PERMITTED


def grants(role: Role, module: str, name: str) -> bool:
    tool, full_name = TOOLS[module].get(name, READ), f"{module}.{name}"
    denied = any(fnmatchcase(full_name, mask) for mask in role.deny)
    allowed = not tool.needs_allow or any(fnmatchcase(full_name, mask) for mask in role.allow)
    return allowed and not denied and (role.destructive or not tool.destroys)


def is_off(organization: Organization, module: str, name: str) -> bool:
    return module in organization.disabled or any(
        fnmatchcase(f"{module}.{name}", mask) for mask in organization.disabled
    )


@pytest.fixture
def clients(organization: str, login: LocalLogin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    """The clients of eve, with a server behind the category serena.fs."""
    members.put_role(organization, Role("all", modules=tuple(TOOLS), allow=("*",)))
    with configured(tmp_path, monkeypatch) as upstreams:
        upstreams.configure({"serena": upstreams.scripted("serena", **SCRIPT)}, {"serena.fs": FILES})
        yield EndpointClient(login, user="eve"), RestClient(login, user="eve")


masks = st.lists(st.sampled_from(MASKS), max_size=2, unique=True).map(tuple)
modules = st.lists(st.sampled_from(list(TOOLS)), min_size=1, unique=True).map(tuple)


def role(name: str) -> st.SearchStrategy[Role]:
    return st.builds(Role, st.just(name), modules=modules, allow=masks, deny=masks, destructive=st.booleans())


READER, WRITER = Role("first", ("rag",)), Role("second", ("rag",), allow=("rag.put_doc",))


# An example is small as it is, and shrinking it would take minutes.
@example((READER, WRITER), READER, (), ("rag", "put_doc"), "first", "acme")
@example((READER, WRITER), READER, ("*.delete_doc",), ("rag", "put_doc"), "", "globex")
@settings(
    max_examples=examples(60),
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    held=st.tuples(role("first"), role("second")),
    elsewhere=role("first"),
    disabled=st.lists(st.sampled_from(SWITCHES), max_size=1).map(tuple),
    tool=st.sampled_from(TRIED),
    header=st.sampled_from(["", "", "", "second", "foreign"]),
    named=st.sampled_from(["acme"] * 5 + ["globex", "nowhere", ""]),
)
def test_every_entrance_decides_as_the_rules_say(
    clients: Clients,
    login: LocalLogin,
    held: tuple[Role, Role],
    elsewhere: Role,
    disabled: tuple[str, ...],
    tool: tuple[str, str],
    header: str,
    named: str,
) -> None:
    eve = User("eve", "Eve", Subject(login.issuer, "eve"))
    acme = Organization("acme", "Acme", disabled, {one.name: one for one in held}, {"eve": eve_in(eve, held)})
    globex = Organization("globex", "Globex", (), {"first": elsewhere}, {"eve": eve_in(eve, [elsewhere])})
    headers = {"x_mcpist_role": header, "x_mcpist_organization": named}
    sent = {name: value for name, value in headers.items() if value}
    asked = clients[0].with_headers(**sent), clients[1].with_headers(**sent)
    know(eve.subject, *acme.access_items(), *globex.access_items())
    of = {"acme": acme, "globex": globex}.get(named)
    roles = [one for one in (of.roles.values() if of else ()) if header in {"", one.name}]
    rules_of_tool = expected(of, roles, tool[0], tool[1:]) if of and roles else "AUTHORIZATION_ERROR"
    for enter in entrances(*tool):
        names = MATERIALS.get((enter.__name__, tool[1]), tool[1:])
        rules = expected(of, roles, tool[0], names) if of and roles else "AUTHORIZATION_ERROR"
        assert enter(asked, *tool) == rules, enter
    reads = TOOLS[tool[0]][tool[1]].reads
    assert (reading_call(asked, *tool) == PERMITTED) == (rules_of_tool == PERMITTED and reads)
    if of:
        assert step(eve.subject, of.id, header, *tool) == rules_of_tool
    if tool[0] in CATALOGUE.names and reads and not header:
        assert tried(eve.subject, named, *tool) == rules_of_tool


@pytest.mark.parametrize("tool", [*TRIED[:3], TRIED[4], *TRIED[5:]], ids=".".join)
def test_every_entrance_asks_the_policies(
    clients: Clients, login: LocalLogin, tool: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "WRONG", RIGHT.get(tool[1], {}))
    everything = Role("everything", tuple(TOOLS), allow=("*",), destructive=True)
    eve = User("eve", "Eve", Subject(login.issuer, "eve"))
    text = (
        f'@id("base") permit (principal, action, resource); @id("no") forbid (principal, action in {NAMED}, resource);'
    )
    acme = Organization(
        "acme",
        "Acme",
        (),
        {everything.name: everything},
        {"eve": eve_in(eve, [everything])},
        policies=Policies(1, text),
    )
    know(eve.subject, *acme.access_items())
    decided = {enter.__name__: enter(clients, *tool) for enter in entrances(*tool)}
    decided["step"] = step(eve.subject, "acme", "", *tool)
    if TOOLS[tool[0]][tool[1]].reads:
        decided["reading"] = reading_call(clients, *tool)
        decided |= {"tried": tried(eve.subject, "acme", *tool)} if tool[0] in CATALOGUE.names and not WRONG else {}
    assert set(decided.values()) == {"POLICY_REFUSED"}, decided


def test_a_category_that_nobody_has_read_yet_is_refused_the_same(clients: Clients, login: LocalLogin) -> None:
    reader = Role("reader", ("rag",), allow=("*",))
    eve = eve_in(User("eve", "Eve", Subject(login.issuer, "eve")), [reader])
    know(eve.subject, *Organization("acme", "", (), {"reader": reader}, {"eve": eve}).access_items())
    decided = {
        enter: enter(clients, "serena.fs", "read_file") for enter in (rest_call, rest_batch, call, batch, category)
    }
    assert set(decided.values()) == {"AUTHORIZATION_ERROR"}, decided


def know(subject: Subject, *items: Item) -> None:
    """Let the directory have these items of a subject."""
    directory.access_cache.put(subject, KnownSubject(subject, list(items)))


def eve_in(eve: User, roles: Any) -> User:
    return User(eve.id, eve.name, eve.subject, roles=tuple(one.name for one in roles))


def test_this_file_knows_all_tools_of_its_module() -> None:
    assert set(CATALOGUE.index.modules["rag"].tools) == set(TOOLS["rag"])
