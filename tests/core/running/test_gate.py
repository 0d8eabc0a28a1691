"""The gate: what is refused or asked before anything runs, and the rows that this leaves."""

import io
import json
from dataclasses import replace
from typing import Any

import pytest

from mcpist.aws import clients
from mcpist.caller import Caller, Proof, Role
from mcpist.errors import (
    AnswerWithheld,
    AuthorizationError,
    ConfirmationDeclined,
    ConfirmationPending,
    ConfirmationRequired,
    ConnectionRequired,
    FileNotFound,
    InvalidArguments,
    McpistError,
    StaleConfirmation,
    ToolDisabled,
    UpstreamUnavailable,
    to_message,
)
from mcpist.people import questions
from mcpist.running import broker
from mcpist.running.broker import Credential
from mcpist.running.confirmation import Agreement
from mcpist.running.gate import (
    CONFIRMED,
    OtherReadingTools,
    ToolUse,
    admit,
    get_upstream_prompt,
    permit,
    problems_audited,
    read_upstream,
)
from mcpist.running.preview import preview
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.module import Module
from mcpist.tools.search.catalogue import Catalogue, ModuleSource
from mcpist.tools.search.index import Index, ModuleEntry, PromptEntry, ResourceEntry
from mcpist.tools.search.word_index import WordIndex
from tests.audit_items import audit_items
from tests.core.sample import CATALOGUE, EVERYTHING, caller
from tests.lost_rows import demand_rows, lose_rows

UMA = replace(caller(EVERYTHING), proof=Proof("jwt", "j.w.t"))
DELETE = ToolUse("shop", "delete_item", {"item_id": "7"}, "r1")
ASKED = Agreement(can_ask=True)

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture(autouse=True)
def credential(aws: list[str]) -> None:  # noqa: ARG001 - the cache is emptied with AWS
    """Let the caller's account be known already."""
    held = Credential("t1", account_id="1", account_name="uma@shop", owner="user#uma", expires_at=None)
    broker.credential_cache.put(("acme", "uma", ("everything",), "shop", "", ()), held)


def rows() -> list[tuple[str, str]]:
    items = audit_items("acme")
    return [(item["tool"], item["outcome"]) for item in items]


def permitted(*roles: Role, disabled: tuple[str, ...] = ()) -> Permissions:
    return Permissions(replace(caller(*roles, disabled=disabled), proof=Proof("jwt", "j.w.t")), CATALOGUE)


def pending(use: ToolUse = DELETE) -> ConfirmationPending:
    with pytest.raises(ConfirmationPending) as asked:
        admit(Permissions(UMA, CATALOGUE), use, ASKED)
    return asked.value


def answer(state: str, *, agreed: bool | None = True) -> Agreement:
    return Agreement(can_ask=True, question=state, agreed=agreed)


@pytest.mark.parametrize(
    ("permissions", "use", "error"),
    [
        (permitted(Role("empty")), ToolUse("shop", "get_item", {"item_id": "7"}, "r1"), AuthorizationError),
        (permitted(EVERYTHING, disabled=("shop.*",)), DELETE, ToolDisabled),
        (permitted(EVERYTHING), DELETE, ConfirmationRequired),
    ],
    ids=["of no role", "switched off", "not confirmed"],
)
def test_a_refused_use_leaves_a_row(permissions: Permissions, use: ToolUse, error: type[McpistError]) -> None:
    with pytest.raises(error):
        admit(permissions, use)
    assert rows() == [(f"shop.{use.tool}", error.code)]


def test_a_tool_reads_by_others_only_what_its_caller_may_use() -> None:
    others = OtherReadingTools(permitted(Role("empty")), ToolUse("people", "find", {}, "r1"))
    assert not others.may_use("shop", "get_item")
    with pytest.raises(AuthorizationError):
        others.read("shop", "get_item", {"item_id": "7"}, 5)
    assert rows() == [("shop.get_item", "AUTHORIZATION_ERROR")]


def test_a_tool_writes_nothing_by_others() -> None:
    others = OtherReadingTools(Permissions(UMA, CATALOGUE), ToolUse("people", "find", {}, "r1"))
    with pytest.raises(TypeError, match=r"shop\.create_item does not only read"):
        others.read("shop", "create_item", {"name": "a", "price": 1}, 5)
    assert rows() == []


def test_a_refusal_is_answered_even_if_its_row_is_lost() -> None:
    lose_rows()
    with pytest.raises(AuthorizationError):
        admit(permitted(Role("empty")), DELETE)


def test_a_refusal_is_withheld_without_its_row_where_the_owner_demands_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    demand_rows(monkeypatch)
    lose_rows()
    with pytest.raises(AnswerWithheld):
        admit(permitted(Role("empty")), DELETE)


def test_what_an_upstream_answers_is_withheld_without_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    demand_rows(monkeypatch)
    lose_rows()
    notes = Notes()
    catalogue = Catalogue("tests.core.sample", ("shop", "safe"), deployed=lambda: [notes])
    of = Permissions(caller(Role("all", ("notes",), ("notes.*",))), catalogue)
    for ask in (
        lambda: read_upstream(of, "notes", "file:///a", "r1", 5),
        lambda: get_upstream_prompt(of, "notes", "greet", {}, "r2", 5),
    ):
        with pytest.raises(AnswerWithheld):
            ask()
    assert len(notes.roles) == 2


def test_a_name_that_a_caller_made_up_is_shortened_in_its_row() -> None:
    with pytest.raises(AuthorizationError), problems_audited(UMA, "r1"):
        raise AuthorizationError(name=f"shop.{'x' * 5_000}")
    ((name, outcome),) = rows()
    assert (len(name), outcome) == (len("shop.") + 200, "AUTHORIZATION_ERROR")


def test_a_batch_leaves_one_row_for_each_tool_that_is_refused() -> None:
    others = [ToolDisabled(name="shop.b"), AuthorizationError(name="shop.a")]
    others.append(InvalidArguments(module="shop", tool="c", field="x", problem="no"))
    with pytest.raises(AuthorizationError), problems_audited(UMA, "r1"):
        raise AuthorizationError(name="shop.a").with_details(problems=others)
    assert sorted(rows()) == [("shop.a", "AUTHORIZATION_ERROR"), ("shop.b", "TOOL_DISABLED")]


def test_a_question_names_the_target_and_the_account_and_is_no_refusal() -> None:
    error = pending()
    assert error.uses == ('shop.delete_item {"item_id":"7"} (account: "uma@shop")',)
    assert rows() == []


def test_a_yes_admits_the_use_once() -> None:
    state = pending().details["confirmation"]
    permissions = Permissions(UMA, CATALOGUE)
    assert admit(permissions, DELETE, answer(state)).tool.name == "delete_item"
    with pytest.raises(StaleConfirmation):
        admit(permissions, DELETE, answer(state))


def test_a_no_is_a_refusal_with_a_row() -> None:
    with pytest.raises(ConfirmationDeclined):
        admit(Permissions(UMA, CATALOGUE), DELETE, answer(pending().details["confirmation"], agreed=False))
    assert rows() == [("shop.delete_item", "CONFIRMATION_REQUIRED")]


def test_a_yes_admits_no_other_target() -> None:
    state = pending().details["confirmation"]
    with pytest.raises(StaleConfirmation):
        admit(Permissions(UMA, CATALOGUE), replace(DELETE, arguments={"item_id": "8"}), answer(state))


def test_a_yes_admits_no_other_account_that_has_become_the_default() -> None:
    state = pending().details["confirmation"]
    work = Credential("t2", account_id="2", account_name="uma@shop", owner="user#uma", expires_at=None, label="work")
    broker.credential_cache.put(broker.cache_key(UMA, "shop"), work)
    with pytest.raises(StaleConfirmation):
        admit(Permissions(UMA, CATALOGUE), DELETE, answer(state))


def test_a_yes_to_connecting_an_account_confirms_nothing() -> None:
    state = questions.save(UMA, questions.digest_of(UMA, *DELETE.subject), {"service": "shop"}, kind="connect")
    with pytest.raises(StaleConfirmation):
        admit(Permissions(UMA, CATALOGUE), DELETE, answer(state))


def test_the_word_of_the_program_counts_only_where_nobody_can_be_asked() -> None:
    permissions = Permissions(UMA, CATALOGUE)
    assert admit(permissions, DELETE, CONFIRMED)
    with pytest.raises(ConfirmationPending):
        admit(permissions, DELETE, Agreement(claimed=True, can_ask=True))


def test_arguments_are_checked_before_anybody_is_asked() -> None:
    with pytest.raises(InvalidArguments):
        admit(Permissions(UMA, CATALOGUE), replace(DELETE, arguments={}), ASKED)


def broker_answers(error: McpistError) -> None:
    """Let the broker be asked, and answer with an error."""
    broker.credential_cache.clear()
    payload = io.BytesIO(json.dumps({"error": to_message(error)}).encode())
    answer = {"Payload": payload, "ResponseMetadata": {"RequestId": "i1"}}
    response = type("Response", (), {"status_code": 200})
    clients.session().register("before-call.lambda.Invoke", lambda **_: (response, answer))


def test_an_account_is_connected_before_anybody_is_asked() -> None:
    broker_answers(ConnectionRequired(service="shop", url=""))
    with pytest.raises(ConnectionRequired) as error:
        admit(Permissions(UMA, CATALOGUE), DELETE, ASKED)
    assert error.value.details["url"].endswith("/connect/shop?organization=acme&user=uma")
    assert rows() == [("shop.delete_item", "CONNECTION_REQUIRED")]


def test_a_preview_without_an_account_leads_to_the_persons_own_page() -> None:
    broker_answers(ConnectionRequired(service="shop", url=""))
    with pytest.raises(ConnectionRequired) as error:
        preview(Permissions(UMA, CATALOGUE), ToolUse("shop", "get_item", {"item_id": "1"}, "r1"), 10)
    assert error.value.details["url"].endswith("/connect/shop?organization=acme&user=uma")


def test_a_broker_that_fails_stops_a_destructive_use() -> None:
    broker_answers(UpstreamUnavailable(service="token broker", problem="down"))
    with pytest.raises(UpstreamUnavailable):
        admit(Permissions(UMA, CATALOGUE), DELETE, ASKED)


class Notes(ModuleSource):
    """A module of an upstream server, as a source of the catalogue; it keeps in which roles it was asked."""

    index = Index([], WordIndex.of([]))

    def __init__(self) -> None:
        self.roles: list[tuple[str, ...]] = []
        resource = ResourceEntry("a", "file:///a", "", "text/plain", (), "", needs_allow=True)
        prompt = PromptEntry("greet", "", (), (), needs_allow=True)
        entry = replace(ModuleEntry.of(self.module("notes")), resources={"a": resource}, prompts={"greet": prompt})
        self.index = Index([entry], WordIndex.of([]))

    def module(self, name: str) -> Module:
        return Module(name, "Notes.", api_version="1", upstream=self)  # type: ignore[arg-type]  # it calls no tool

    def read(self, caller: Caller, uri: str, *, deadline: float) -> Any:  # noqa: ARG002
        self.roles.append(caller.role_names)

    def get_prompt(self, caller: Caller, *_: Any, deadline: float) -> Any:  # noqa: ARG002
        self.roles.append(caller.role_names)


def test_an_upstream_is_asked_for_resources_and_prompts_in_the_permitting_roles() -> None:
    notes = Notes()
    catalogue = Catalogue("tests.core.sample", ("shop", "safe"), deployed=lambda: [notes])
    roles = (
        Role("prompts", ("notes",), ("notes.prompts.*",)),
        Role("neither", ("notes",)),
        Role("resources", ("notes",), ("notes.*",), ("*.prompts.*",)),
        Role("seller", ("shop",), ("*",)),
    )
    of = Permissions(caller(*roles), catalogue)
    read_upstream(of, "notes", "file:///a", "r1", 5)
    get_upstream_prompt(of, "notes", "greet", {}, "r2", 5)
    assert notes.roles == [("resources",), ("prompts",)]
    with pytest.raises(FileNotFound):
        read_upstream(of, "notes", "file:///b", "r3", 5)
    with pytest.raises(AuthorizationError):
        read_upstream(Permissions(caller(Role("seller", ("shop",))), catalogue), "notes", "file:///a", "r3", 5)
    assert len(notes.roles) == 2


def test_null_is_absent_as_a_caller_writes_it_but_not_as_a_reference_gives_it() -> None:
    arguments = {"query": None, "limit": None}
    called, step = (
        permit(permitted(EVERYTHING), ToolUse("shop", "list_items", arguments, "r1", batch)) for batch in ("", "b_1")
    )
    assert (called.use.arguments, step.use.arguments) == ({}, arguments)


def test_the_error_of_a_step_has_no_value_that_a_reference_gave() -> None:
    wrong = {"nam": "from another step", "price": 1}
    for batch, is_corrected in (("", True), ("b_1", False)):
        with pytest.raises(InvalidArguments) as refused:
            permit(permitted(EVERYTHING), ToolUse("shop", "create_item", wrong, "r1", batch)).run(9)
        assert ("from another step" in json.dumps(to_message(refused.value))) is is_corrected
