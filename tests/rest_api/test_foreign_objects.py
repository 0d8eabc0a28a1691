"""A walk over all routes of the OpenAPI document: no parameter leads to an object of another organization or person.

Every parameter that names an object gets one of another organization, of another person, a missing and a malformed one.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

import pytest
from moto.dynamodb.models import dynamodb_backends
from moto.s3.models import s3_backends
from pydantic import SecretStr

from infra.local.names import ACCOUNT, REGION
from mcpist.aws.attributes import encode
from mcpist.aws.table import directory_table
from mcpist.caller import Role, Subject
from mcpist.events import sources
from mcpist.events.sources import EventSource
from mcpist.files import access
from mcpist.memory import forget_entries
from mcpist.people import directory
from mcpist.people.company import Group
from mcpist.people.issuers import DOMAINS_KEY, Issuer
from mcpist.running.changes import ChangeContent
from mcpist_services import NAMES
from mcpist_services.skills import Skill
from rest_api import page
from tests import members
from tests.console.conftest import messages as messages
from tests.console.conftest import service as service
from tests.core.loopback import Service, json_response
from tests.faults import for_each
from tests.kept_changes import keep
from tests.mcp_endpoint.ledger_driver import LedgerDriver
from tests.mocked_aws import MotoStores
from tests.rest_api.rest_client import Answer, RestClient
from tests.rest_api.test_batches import TAGS
from tests.services.described.library import library
from tests.services.rag.bucket import store
from tests.upstreams.configured import reset_upstreams
from token_broker.grants import grants
from token_broker.grants.grants import GrantedAccount, Tokens

FOREIGN, OWN, MISSING = "zzyx7", "uffish", "zzyx9"
"""The marks in the names of both organizations' objects, and in names that nothing has: suggestions tell none apart."""
_OTHER_DIGITS = str.maketrans("0123456789abcdef", "1032547698badcfe")
MALFORMED = ("\0", "..", "x" * 5_000, "'\"><%", "\ud800".encode("utf-8", "replace").decode(), "[]")
# Values of an answer that differ each time.
_NEW = re.compile(r"b_[0-9a-f]{16,}|\b[0-9a-f]{64}\b|code=[\w-]+|\d{4}-\d\d-\d\d[ T][\d:.+]+Z?|\b1[78]\d{8}\b")
# Operations of AWS that change nothing.
_READS = re.compile("(Batch|Transact)?Get|Head|List|Query|Scan|Describe")
_UNEQUAL = {"request_id", "timestamp", "executionTime", "client_id", "client_secret"}

type Objects = Mapping[str, str]
"""The name or the id of an object of each kind."""

# The kind of object that a parameter names; what is in neither names none.
KINDS = {
    "user": "user",
    "role": "role",
    "group": "group",
    "roles": "role",
    "open_to": "role",
    "modules": "module",
    "tool": "tool",
    "allow": "tool",
    "deny": "tool",
    "approval": "tool",
    "second_person": "tool",
    "disable": "tool",
    "enable": "tool",
    "module": "module",
    "batch": "batch",
    "row": "row",
    "sha256": "file",
    "question": "question",
    "confirmation": "confirmation",
    "sub": "sub",
    "organization": "organization",
    "x-mcpist-organization": "organization",
    "x-mcpist-role": "role",
}
KINDS_BY_OPERATION = {
    ("get_batch", "id"): "batch",
    ("cancel_batch", "id"): "batch",
    ("resume_batch", "id"): "batch",
    ("confirm_batch", "id"): "batch_question",
    ("get_change", "id"): "change",
    ("undo_changes", "undo"): "change",
    ("list_changes", "batch"): "batch",
    ("end_event_source", "id"): "source",
    ("get_approval", "id"): "approval",
    ("approve_request", "id"): "approval",
    ("decline_approval", "id"): "approval",
    ("cancel_approval", "id"): "approval",
    ("delete_connection", "id"): "connection",
    ("delete_invitation", "user"): "invitation",
    ("delete_login", "domain"): "login",
    ("set_login", "domain"): "login",
    ("create_invitation", "user"): "invitation",
    ("get_tool", "name"): "tool",
    ("switch_tool", "name"): "tool",
    ("call_tool", "name"): "tool",
    ("get_module", "name"): "module",
    ("switch_module", "name"): "module",
    ("delete_module", "name"): "module",
    ("get_module_app", "name"): "module",
    ("set_module_app", "name"): "module",
    ("delete_module_app", "name"): "module",
    ("approve_module_tools", "name"): "module",
    ("register_module", "name"): "module",
    ("get_skill", "name"): "skill",
    ("approve_skill", "name"): "skill",
    ("create_role", "name"): "role",
}
NO_OBJECTS = {
    *(
        "request",
        "correlation",
        "event",
        "outcome",
        "client",
        "trace",
        "text",
        "cursor",
        "head",
        "tools",
        "service",
        "key",
        "name",
        "issuer",
    ),
    *(
        "category",
        "tag",
        "tags",
        "again",
        "commands",
        "query",
        "if-match",
        "if-none-match",
        "q",
        "idempotency-key",
        "author",
        "description",
        "noise",
        "reason",
        "since",
    ),
    "account",  # a label among one owner's accounts; the owner is another parameter, or the caller
    *("type", "after", "arguments", "secret"),  # of events, which are read as one's own alone
    *("clientId", "authorizeUrl", "tokenUrl", "revokeUrl", "scopes"),  # of the app of a module that the path names
    *("public_key", "jwks_url", "clients", "trusted_issuers"),
    *("text", "labels", "time_zone", "minutes", "remembers"),  # of policies: names in them are checked when saved
    *("domain", "client_id", "client_secret"),  # of a login, which a domain's own file lets an organization set
    *("operations", "server", "url", "version", "fingerprint", "fingerprints", "openapi", "disabled"),
}
# Objects of one person, which colleagues see no more than objects that do not exist.
PRIVATE = ("batch", "change", "batch_question", "confirmation", "file", "question", "row", "invitation", "source")
# Who has the tool may approve its use by others.
UNSEEN_BY = {"eve": PRIVATE, "nix": (*PRIVATE, "approval")}
# The token's own question, while each request of these clients has a token of its own; a mask that is not disabled.
WITHOUT_EFFECT = {
    ("confirm_grant", "question"),
    ("change_organization", "enable"),
    ("choose_default_grant", "role"),  # of a role with one account there is nothing to choose
    ("replace_service_credentials", "user"),  # a person has no credentials of a program
    ("set_login", "domain"),  # the domain and its issuer are asked first, for any domain alike
}
SKILL = "---\nname: {0}\ndescription: Of {0}\n---\n"
# What a request needs besides the object, so that one with the caller's own object succeeds.
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "approve_skill": {"fingerprint": Skill("", {}, {"SKILL.md": SKILL.format(OWN)}).fingerprint},
    "change_group": {"roles": []},
    "change_organization": {"name": "New"},
    "change_role": {"deny": ["rag.put_doc"]},
    "change_user": {"name": "New"},
    "confirm_grant": {"agreed": True, "question": "0" * 64},
    "create_grant": {"service": "github", "key": "github_pat_canary00000000000000"},
    "create_invitation": {"user": "guest", "roles": []},
    "create_role": {"name": "new"},
    "create_user": {"user": "new", "name": "New", "sub": "new"},
    "create_service": {"user": "new", "name": "New"},
    "call_tool": {"name": "rag-delete-doc", "parameters": {"path": f"{OWN}.md"}},
    "explain_tool": {"tool": "rag.list_tags"},
    "decline_approval": {"reason": "no"},
    "register_module": {"name": "new_api", "openapi": library()},
    "replace_organization": {"organization": "acme", "name": "Acme"},
    "search_tools": {"query": "list"},
    "start_batch": {"commands": [TAGS]},
    "switch_module": {"enabled": False},
    "switch_tool": {"enabled": False},
}


@dataclass(frozen=True, repr=False)
class Parameter:
    """A place of a request at which an object is named."""

    operation: str
    method: str
    path: str
    name: str
    place: str
    """`path`, `query`, `header` or `body`; `list` for a list of names in the body."""

    def __repr__(self) -> str:
        """Its name in the report of faults."""
        return f"{self.operation} {self.place} {self.name}"

    @property
    def kind(self) -> str:
        """The kind of the object; empty if none is named."""
        return KINDS_BY_OPERATION.get((self.operation, self.name), KINDS.get(self.name, ""))

    def ask(self, client: RestClient, objects: Objects, value: str) -> Answer:
        """Send the operation with the caller's own objects, but with this value at the place."""
        path, query = self.path, {}
        for other in PARAMETERS:
            if other.operation == self.operation and other.place == "path":
                own = value if other == self else objects[other.kind or other.name]
                path = path.replace(f"{{{other.name}}}", own)
        body = dict(_SETTINGS.get(self.operation, {})) if self.method in {"POST", "PUT", "PATCH"} else None
        if self.operation == "explain_tool":
            query, body = dict(_SETTINGS[self.operation]), None
        match self.place:
            case "query":
                query[self.name] = value
            case "header":
                client = client.with_headers(**{self.name.replace("-", "_"): value})
            case "body":
                body = {**(body or {}), self.name: value}
            case "list":
                body = {**(body or {}), self.name: [value]}
        return client.send(self.method, path, body, **query)


def _parameters() -> Iterator[Parameter]:
    """Yield the parameters of the document that may name an object: texts, and lists of texts."""
    document = page.document()
    for method, path, operation in page.operations(document):
        at = partial(Parameter, operation["operationId"], method.upper(), path)
        for one in operation.get("parameters", ()):
            if _is_text(document, one["schema"]):
                yield at(one["name"].lower(), one["in"])
        for name in ("x-mcpist-organization", "x-mcpist-role"):
            yield at(name, "header")
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        for name, schema in _resolved(document, content.get("schema", {})).get("properties", {}).items():
            if _is_text(document, schema):
                yield at(name, "body")
            elif any(_is_text(document, one.get("items", {})) for one in _alternatives(document, schema)):
                yield at(name, "list")


def _resolved(document: Any, schema: Any) -> Any:
    return document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema


def _alternatives(document: Any, schema: Any) -> list[Any]:
    schema = _resolved(document, schema)
    return [_resolved(document, one) for one in schema.get("anyOf", [schema])]


def _is_text(document: Any, schema: Any) -> bool:
    """Whether a schema takes any text: no enumeration, and no moment."""
    return any(
        one.get("type") == "string" and not {"enum", "const", "format"} & one.keys()
        for one in _alternatives(document, schema)
    )


PARAMETERS = list(dict.fromkeys(_parameters()))
NAMING = [parameter for parameter in PARAMETERS if parameter.kind]


@dataclass(frozen=True)
class World:
    """Two organizations with an object of each kind, as they were before each request."""

    rest: RestClient
    own: Objects
    """Objects of acme, which are Uma's."""
    foreign: Objects
    stores: MotoStores = field(repr=False)
    sent: list[str] = field(repr=False)
    """The operations that were sent to AWS since the stores were put back."""
    held: Mapping[str, set[str]] = field(repr=False)
    """What the stores had of the other organization and of Uma."""

    def client(self, user: str) -> RestClient:
        return self.rest.of(user)

    def ask(self, parameter: Parameter, user: str, value: str) -> Answer:
        """Send a request to the organizations as they were before."""
        self.put_back()
        return parameter.ask(self.client(user), self.own, value)

    def put_back(self) -> None:
        """Let the organizations be as they were before; most requests have only read them."""
        if self.is_changed:
            self.stores.put_back()
            forget_entries()
        self.sent.clear()

    @property
    def is_changed(self) -> bool:
        return not all(map(_READS.match, self.sent))

    def keeps(self, owner: str) -> bool:
        """Whether the stores have of an owner what they had before."""
        return not self.is_changed or holdings(owner) == self.held[owner]

    @staticmethod
    def missing(value: str) -> str:
        """Return a name that looks like another one and that nothing has."""
        renamed = value.replace(FOREIGN, MISSING).replace(OWN, MISSING)
        kind, _, digits = value.rpartition("_")  # as of c_0123
        changed = f"{kind}_{digits.translate(_OTHER_DIGITS)}" if kind else value.translate(_OTHER_DIGITS)
        return changed if renamed == value else renamed


@pytest.fixture
def world(
    messages: list[dict[str, Any]],
    service: Service,
    rest: RestClient,
    aws: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[World]:
    """The organizations acme and globex, and the real token broker."""
    reset_upstreams()
    own = _fill(rest, service, "acme", OWN)
    foreign = _fill(rest, service, "globex", FOREIGN)
    for user, roles in {"eve": [f"role_{OWN}"], "nix": []}.items():
        members.put_user("acme", user, name=user, subject=Subject(rest.login.issuer, user), roles=roles)
    assert messages
    held = {owner: holdings(owner) for owner in ("globex", f"user_{OWN}")}
    yield World(rest, own, foreign, MotoStores.now(), aws, held)
    monkeypatch.undo()
    reset_upstreams()


def _fill(rest: RestClient, service: Service, organization: str, mark: str) -> Objects:
    """Make an organization with an object of each kind, each with the mark in its names and contents."""
    issuer, sub, role, module = rest.login.issuer, f"sub_{mark}", f"role_{mark}", f"module_{mark}"
    members.put_organization(organization, name=f"Name {mark}")
    has = partial(Role, role, allow=("rag.*", f"{module}.*"), destructive=True)
    members.put_role(organization, has(modules=NAMES))
    everybody = {f"user_{mark}": ("user", sub), f"admin_{mark}": ("admin", f"admin_{mark}")}
    for name, (system_role, subject) in everybody.items():
        members.put_user(
            organization,
            name,
            name=f"Name {mark}",
            subject=Subject(issuer, subject),
            system_role=system_role,  # type: ignore[arg-type]
            roles=[role],
        )
    group = Group(f"group_{mark}", f"Group {mark}")
    directory.change(organization, lambda before: replace(before, groups={group.id: group}))
    forget_entries()
    person, administrator = rest.of(sub), rest.of(f"admin_{mark}")
    _succeeds(administrator.post("/v1/modules", {"name": module, "description": f"Of {mark}", "openapi": library()}))
    _succeeds(administrator.post("/v1/invitations", {"user": f"guest_{mark}", "name": f"Name {mark}", "roles": [role]}))
    members.put_role(organization, has(modules=(*NAMES, module)))
    forget_entries()
    store(f"skills/{mark}/SKILL.md", SKILL.format(mark), organization)
    batch = _succeeds(person.post("/v1/batches", {"commands": [TAGS]})).json["id"]
    LedgerDriver(batch, organization).finish("tags", raw=[{"tag": f"tag_{mark}", "count": 2}])
    drop = {"id": "drop", "module": "rag", "tool": "delete_doc", "params": {"path": f"{mark}.md"}}
    asked = person.post("/v1/batches", {"commands": [drop]}).json["details"]["confirmation"]
    asked_call = person.call("rag-delete-doc", parameters={"path": f"{mark}.md"}).json["details"]["confirmation"]
    members.put_role(organization, has(modules=(*NAMES, module), approval=("rag.*",)))
    forget_entries()
    waiting = person.call("rag-delete-doc", parameters={"path": f"{mark}.md"}).json["details"]["approval_id"]
    members.put_role(organization, has(modules=(*NAMES, module)))
    forget_entries()
    caller = directory.identify(Subject(issuer, sub))
    fields = {"subject": caller.subject, "roles": (role,), "location": {"owner": mark, "repo": mark}, "permit": mark}
    source = EventSource(
        organization=organization, token=mark, user=caller.user, module="github", channel="issues", begun_at=1, **fields
    )
    sources.put(source)
    login = Issuer("https://login.example.com", mark, f"{mark}.example".casefold(), organization)
    directory_table().put({"pk": DOMAINS_KEY, "sk": login.domain, **encode(login)})
    call = "put_doc", {"path": f"{mark}.md", "content": mark}
    content = ChangeContent(tool="put_doc", arguments={}, was={"content": mark}, calls=(call,))
    file = access.put(caller, f"Content of {mark}".encode(), "text/plain").sha256
    for owner in (f"user#user_{mark}", f"role#{role}"):
        account = GrantedAccount(services=("github",), account_id="1", account_name=f"account_{mark}", kind="key")
        grants.save(organization, "github", owner, account=account, tokens=Tokens(SecretStr("t")), replaces=0)
    service.replies = [json_response({"id": 583231, "login": f"other_{mark}", "type": "User"})]
    pasted = _succeeds(person.post("/v1/grants", {"service": "github", "key": "github_pat_canary00000000000000"}))
    _succeeds(person.call("rag-list-tags"))
    assert person.call(f"{module}.get_book", parameters={"book_id": "7"}).status == 409
    _succeeds(administrator.get(f"/v1/batches/{batch}"))
    row = _succeeds(person.get("/v1/audit", event="use")).json["rows"][0]
    return {
        "organization": organization,
        "user": f"user_{mark}",
        "sub": sub,
        "role": role,
        "group": group.id,
        "module": module,
        "tool": f"{module}.get_book",
        "invitation": f"guest_{mark}",
        "login": login.domain,
        "batch": batch,
        "batch_question": asked,
        "confirmation": asked_call,
        "file": file,
        "change": keep(caller, "rag.put_doc", content, batch=batch),
        "approval": waiting,
        "connection": f"github@{role}",
        "question": pasted.json["question"],
        "row": row["id"],
        "source": source.id,
        "service": "github",
        "skill": mark,
    }


def _succeeds(answer: Answer) -> Answer:
    assert answer.status < 300, answer.text
    return answer


def holdings(organization: str) -> set[str]:
    """Return all that the stores have of an organization."""
    tables = dynamodb_backends[ACCOUNT][REGION].tables
    items = (item.to_json() for table in tables.values() for item in table.all_items())
    held = {text for item in items if organization in (text := json.dumps(item, sort_keys=True, default=str))}
    buckets = s3_backends[ACCOUNT]["aws"].buckets
    return held | {key for bucket in buckets.values() for key in bucket.keys if organization in key}


def said(answer: Answer, value: str) -> str:
    """Return an answer without what differs each time, and with the same word in the place of a value."""
    text = answer.text
    if answer.headers.get("content-type", "").startswith("application/json"):
        content = json.loads(text)
        text = json.dumps({name: one for name, one in content.items() if name not in _UNEQUAL}, ensure_ascii=False)
    for name in (value, *value.split(".")):  # an answer can name a tool's module and the tool apart
        text = text.replace(name, "VALUE")
    return f"{answer.status} {_NEW.sub('NEW', text)}"


def test_every_parameter_is_known_to_the_walk() -> None:
    names = {parameter.name for parameter in PARAMETERS if not parameter.kind}
    assert names <= NO_OBJECTS, "say in KINDS which object it names, or add it to NO_OBJECTS"


@pytest.mark.slow
@for_each("parameter, user", [(parameter, user) for parameter in NAMING for user in ("ada", "eve", "nix")])
def test_no_parameter_leads_to_an_object_of_another_organization(world: World, parameter: Parameter, user: str) -> None:
    value = world.foreign[parameter.kind]
    foreign = said(world.ask(parameter, user, value), value)
    assert world.keeps("globex")
    assert FOREIGN not in foreign
    missing = world.missing(value)
    assert foreign == said(world.ask(parameter, user, missing), missing)


@pytest.mark.slow
@for_each("parameter, user", [(one, user) for one in NAMING for user, kinds in UNSEEN_BY.items() if one.kind in kinds])
def test_no_parameter_leads_to_an_object_of_another_person(world: World, parameter: Parameter, user: str) -> None:
    value = world.own[parameter.kind]
    theirs = said(world.ask(parameter, user, value), value)
    assert world.keeps(f"user_{OWN}")
    assert OWN not in theirs
    missing = world.missing(value)
    assert theirs == said(world.ask(parameter, user, missing), missing)


@pytest.mark.slow
@for_each("parameter", [one for one in NAMING if (one.operation, one.name) not in WITHOUT_EFFECT])
def test_the_parameters_lead_to_objects_of_their_own_people(world: World, parameter: Parameter) -> None:
    value = world.own[parameter.kind]
    missing = world.missing(value)
    users = (f"sub_{OWN}", f"admin_{OWN}")
    assert any(
        said(world.ask(parameter, user, value), value) != said(world.ask(parameter, user, missing), missing)
        for user in users
    )


@pytest.mark.slow
@for_each("parameter", PARAMETERS)
def test_a_malformed_name_is_a_typed_error_or_none(world: World, parameter: Parameter) -> None:
    # All operations read their headers in one place: each gets one of the values.
    values = [MALFORMED[PARAMETERS.index(parameter) % len(MALFORMED)]] if parameter.place == "header" else MALFORMED
    for value, user in [*product(values, ["ada"]), (values[0], "eve")]:
        answer = parameter.ask(world.client(user), world.own, value)
        if answer.status < 400:  # what is refused has changed nothing
            world.put_back()
        assert answer.status < 500, (value[:20], answer.text)
        assert FOREIGN not in answer.text
        assert answer.status < 400 or answer.json["code"]
