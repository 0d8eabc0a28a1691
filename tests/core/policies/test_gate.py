"""Policies at the gate: what a call, a step and a plan may do, and what it costs an organization that has none."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mcpist.audit import record as audit
from mcpist.batch.execution.plan import Plan, plan
from mcpist.caller import Caller, Policies, Proof, Role
from mcpist.errors import (
    AgreementPending,
    AgreementRequired,
    ApprovalPending,
    ConfirmationRequired,
    InvalidArguments,
    McpistError,
    NoPolicyPermits,
    PolicyFailed,
    PolicyRefused,
    PolicyUnasked,
)
from mcpist.running import broker
from mcpist.running.broker import Credential
from mcpist.running.confirmation import Agreement
from mcpist.running.gate import CONFIRMED, AdmittedUse, ToolUse, admit, get_upstream_prompt, read_upstream
from mcpist.running.policy import facts_of, judge
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.search.catalogue import Catalogue
from mcpist_services.catalogue import CATALOGUE as SERVICES
from tests.audit_items import audit_items
from tests.core.running.test_gate import Notes
from tests.core.sample import CATALOGUE, EVERYTHING, caller

BASE = '@id("base") permit (principal, action, resource);'
CREATE = ToolUse("shop", "create_item", {"name": "a", "price": 3}, "r1")
DELETE = ToolUse("shop", "delete_item", {"item_id": "7"}, "r1")
CLAIMED = Agreement(claimed=True)
JIRA = Role("jira", modules=("jira",), allow=("*",))

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture(autouse=True)
def credential(aws: list[str]) -> None:  # noqa: ARG001 - the cache is emptied with AWS
    """Let the caller's account be known already."""
    held = Credential("t1", account_id="1", account_name="uma@shop", owner="user#uma", expires_at=None, label="main")
    broker.credential_cache.put(("acme", "uma", ("everything",), "shop", "", ()), held)


def who(*rules: str, **fields: object) -> Caller:
    policies = replace(Policies(1, "\n".join((BASE, *rules))), **fields)
    return replace(caller(EVERYTHING), proof=Proof("jwt", "j.w.t"), policies=policies)


def forbid(what: str, before: str = "", end: str = "") -> str:
    head = f'action == Action::"shop.{what}"' if "_" in what else f'action in Action::"{what}"'
    return f'@id("{what}") @message("Ask Ada.") {before} forbid (principal, {head}, resource) {end};'


def admitted(of: Caller, use: ToolUse = CREATE, consent: Agreement = CLAIMED) -> AdmittedUse:
    return admit(Permissions(of, CATALOGUE), use, consent)


def refused[Refusal: McpistError](
    kind: type[Refusal], of: Caller, use: ToolUse = CREATE, consent: Agreement = CLAIMED
) -> Refusal:
    with pytest.raises(kind) as error:
        admitted(of, use, consent)
    return error.value


def used(of: Caller, tool: str, outcome: str) -> None:
    audit.record_use(of, "shop", tool, outcome=outcome, request="r0")


def test_a_refused_call_names_the_policy_and_leaves_a_row() -> None:
    error = refused(PolicyRefused, who(forbid("create_item")))
    assert error.code == "POLICY_REFUSED"
    assert error.details["policy"] == "create_item"
    assert 'policy "create_item"' in str(error)
    assert str(error).endswith("Ask Ada.")
    assert "ポリシー" in error.text("ja").message
    assert [(row["tool"], row["outcome"]) for row in audit_items("acme")] == [("shop.create_item", "POLICY_REFUSED")]


def test_what_no_policy_permits_is_refused() -> None:
    only_reads = Policies(1, '@id("r") permit (principal, action in Action::"reads", resource);')
    refused(NoPolicyPermits, replace(who(), policies=only_reads))


def test_wrong_arguments_are_told_before_a_policy_looks_at_them() -> None:
    of = who(forbid("create_item"))
    refused(InvalidArguments, of, replace(CREATE, arguments={"name": "a", "price": "much"}))


def test_a_policy_asks_once_for_what_destroys_nothing() -> None:
    of = who(forbid("create_item", "@ask"))
    assert "policy" in str(refused(AgreementRequired, of, consent=Agreement()))
    assert admitted(of).approval is None
    asked = refused(AgreementPending, of, consent=Agreement(can_ask=True))
    assert asked.uses == (
        'shop.create_item {"name":"a","price":3} (account: "uma@shop") (policy "create_item: Ask Ada.")',
    )
    yes = Agreement(can_ask=True, question=asked.details["confirmation"], agreed=True)
    assert admitted(of, consent=yes).tool.name == "create_item"


def test_a_destructive_call_is_asked_about_as_before_whatever_the_policies_permit() -> None:
    refused(ConfirmationRequired, who(), DELETE, Agreement())
    assert admitted(who(), DELETE).tool.name == "delete_item"


def test_a_policy_has_a_second_person_approve() -> None:
    error = refused(ApprovalPending, who(forbid("writes", "@approve")))
    assert error.details["mode"] == "second_person"


def test_a_policy_compares_the_value_that_an_address_stands_for() -> None:
    rule = '@id("no") forbid (principal, action, resource) when { context has args && context.args has issue_key };'
    secret = rule.replace("};", '&& context.args.issue_key like "SEC-*" };')
    permissions = Permissions(replace(who(secret), roles=(JIRA,)), SERVICES)
    jira = SERVICES.module("jira")
    keys = ("SEC-1", "https://acme.atlassian.net/browse/SEC-1", "https://acme.atlassian.net/browse/ENG-1")
    uses = [facts_of(permissions, jira, jira.tools["get_issue"], {"issue_key": key}) for key in keys]
    assert [verdict.level for verdict in judge(permissions, uses)] == ["refuse", "refuse", "permit"]


def test_a_running_step_needs_the_agreement_that_its_batch_asked_for() -> None:
    step = replace(CREATE, batch="b1")
    asks, approves = who(forbid("create_item", "@ask")), who(forbid("create_item", "@approve"))
    refused(PolicyUnasked, asks, step, CONFIRMED)
    refused(PolicyUnasked, approves, step, replace(CONFIRMED, level="ask"))
    assert admitted(asks, step, replace(CONFIRMED, level="ask"))
    assert admitted(asks, step, replace(CONFIRMED, level="approve"))
    assert admitted(approves, step, replace(CONFIRMED, level="approve"))
    refused(PolicyRefused, who(forbid("create_item")), step, replace(CONFIRMED, level="approve"))


def test_a_policy_about_an_account_means_the_one_that_acts() -> None:
    rule = '@id("p") forbid (principal, action in Action::"writes", resource == Account::"shop/main");'
    assert refused(PolicyRefused, who(rule)).details["policy"] == "p"
    assert admitted(who(rule.replace("main", "other")))


def test_the_last_minutes_decide_on_order_and_number() -> None:
    seen = who(forbid("create_item", end='unless { context.before.contains(Action::"shop.list_items") }'))
    refused(PolicyRefused, seen)
    used(seen, "list_items", "UPSTREAM_UNAVAILABLE")
    refused(PolicyRefused, seen)
    used(seen, "list_items", "succeeded")
    assert admitted(seen)
    some = who(forbid("create_item", end="when { context.recent.writes >= 3 || context.recent.destroys >= 2 }"))
    for tool in ("create_item", "delete_item"):
        used(some, tool, "started")
        used(some, tool, "succeeded")
    assert admitted(some)
    used(some, "delete_item", "started")
    refused(PolicyRefused, some)
    refused(PolicyFailed, who(forbid("create_item", end="when { context.recent.writes + 9223372036854775807 > 0 }")))


def test_a_module_has_a_limit_of_its_own() -> None:
    of = who(forbid("list_items", end="when { context.recent.uses >= 3 }"))
    reads = [{"id": f"s{n}", "tool": "list_items"} for n in range(4)]
    assert {one.text for one in planned(of, *reads[:3]).verdicts} == {"permit: base"}
    assert {one.text for one in planned(of, *reads).verdicts} == {"undecided: depends on the other steps"}
    for outcome in ("started", "succeeded"):
        used(of, "create_item", outcome)
    used(of, "list_items", "succeeded")
    assert admitted(of, ToolUse("shop", "list_items", {}, "r"))
    used(of, "list_items", "UPSTREAM_UNAVAILABLE")
    refused(PolicyRefused, of, ToolUse("shop", "list_items", {}, "r"))


def test_a_remembered_read_labels_later_calls_only_where_that_is_set() -> None:
    leak = forbid("create_item", end='when { context.labels.contains("customer") }')
    of = who(leak, labels=("shop.get_item=customer",))
    used(of, "get_item", "succeeded")
    assert admitted(of)
    refused(PolicyRefused, who(leak, labels=("shop.get_item=customer",), remembers=True))


def planned(of: Caller, *steps: dict[str, object]) -> Plan:
    lines = [{"module": "shop", "tool": "create_item", **one} for one in steps]
    return plan("\n".join(map(json.dumps, lines)), Permissions(of, CATALOGUE))


def test_a_plan_decides_every_step_and_says_what_the_rest_depends_on() -> None:
    of = who(forbid("create_item", end='unless { context.args.name like "a*" }'))
    item = {"name": "a", "price": 1}
    find = {"id": "find", "tool": "list_items"}
    made = planned(
        of, find, {"id": "known", "params": item}, {"id": "open", "params": item | {"name": "${find.items[0].name}"}}
    )
    assert {name: one.text for name, one in made.verdict_by_id.items()} == {
        "find": "permit: base",
        "known": "permit: base",
        "open": "undecided: depends on ${find.items[0].name}",
    }
    with pytest.raises(PolicyRefused) as error:
        planned(
            of, find, {"id": "bad", "params": item | {"name": "b"}}, {"id": "worse", "params": item | {"name": "c"}}
        )
    assert [error.value.details["line"], *(one.details["line"] for one in error.value.details["problems"])] == [2, 3]
    assert [(one["id"], one["line"], one["policy"]) for one in error.value.as_dict()["details"]["verdicts"]] == [
        ("find", 1, "permit: base"),
        ("bad", 2, "refuse: create_item"),
        ("worse", 3, "refuse: create_item"),
    ]


def test_a_plan_knows_what_reaches_a_step_and_what_runs_before_it() -> None:
    leak = forbid("create_item", end='when { context.labels.contains("customer") }')
    of = who(leak, labels=("shop.get_item=customer",))
    get = {"id": "get", "tool": "get_item", "params": {"item_id": "7"}}
    list_ = {"id": "find", "tool": "list_items", "params": {"query": "${get.name}"}}
    with pytest.raises(PolicyRefused):
        planned(of, get, list_, {"id": "made", "params": {"name": "${find.items[0].name}", "price": 1}})
    planned(of, get, list_, {"id": "made", "after": "find", "params": {"name": "a", "price": 1}})
    ordered = who(forbid("create_item", end='unless { context.before.contains(Action::"shop.get_item") }'))
    made = {"id": "made", "after": "get", "params": {"name": "a", "price": 1}}
    assert planned(ordered, get, made).verdict_by_id["made"].text == "permit: base"
    perhaps = planned(ordered, get | {"on_error": "continue"}, made).verdict_by_id["made"]
    assert perhaps.depends_on == ("the steps before it",)
    with pytest.raises(PolicyRefused):
        planned(ordered, get, made | {"after": []})


def test_a_column_with_a_label_of_its_own_has_none_of_its_tool() -> None:
    rule = forbid("create_item", end='when { context.labels.contains("untrusted") }')
    lines = ("shop.*=untrusted", "shop.list_items:id=internal")
    find = {"id": "find", "tool": "list_items", "params": {"query": "x"}}
    get = {"id": "get", "tool": "get_item", "params": {"item_id": "${find.items[0].id}"}}

    def made(name: str) -> str:
        step = {"id": "made", "params": {"name": name, "price": 1}}
        try:
            return planned(who(rule, labels=lines), find, get, step).verdict_by_id["made"].text
        except PolicyRefused:
            return "refused"

    assert made("${find.raw[0].id}") == "permit: base"
    assert made("${find.items[0].name}") == "refused"
    assert made("${find.raw[0].id} ${find.items[0].name}") == "refused"
    assert made("${get.name}") == "refused", "what was found by an id has its own labels"


@pytest.mark.parametrize(
    ("tool", "params", "expected"),
    [
        ("delete_item", {"item_id": "${find.items[0].id}"}, "permit: base"),
        ("delete_item", {"item_id": "${find.items[0].name}"}, "refused"),
        ("delete_item", {"item_id": "${find.items[0].id}-${find.items[0].name}"}, "refused"),
        ("delete_item", {"item_id": "${jewels.raw[0].id}"}, "refused"),
        ("create_item", {"name": "a", "price": "${find.items[0].price}"}, "permit: base"),
        ("create_item", {"name": "a", "price": 1, "new": "${jewels.items[0].name}"}, "permit: base"),
        ("create_item", {"name": "${find.items[0].id}", "price": 1}, "refused"),
        ("create_item", {"name": "a", "price": 1, "tags": ["${find.items[0].price}"]}, "refused"),
        ("create_item", {"name": "${get.name}", "price": 1}, "refused"),
        ("delete_item", {"item_id": "${get.id}"}, "permit: base"),
        ("delete_item", {"item_id": "${each.id}"}, "permit: base"),
        ("delete_item", {"item_id": "${each.name}"}, "refused"),
    ],
    ids=json.dumps,
)
def test_ids_and_numbers_are_not_untrusted_where_they_go_back_as_such(
    tool: str, params: dict[str, object], expected: str
) -> None:
    rule = forbid("writes", end='when { context.labels.contains("untrusted") }')
    of = who(rule, labels=("shop.*=untrusted", "safe.*=untrusted"))
    find: dict[str, object] = {"id": "find", "tool": "list_items", "params": {"query": "x"}}
    get = {"id": "get", "tool": "get_item", "params": {"item_id": "${find.items[0].id}"}}
    jewels = {"id": "jewels", "module": "safe", "tool": "list_jewels"}
    step: dict[str, object] = {"id": "step", "tool": tool, "params": params}
    if "${each" in json.dumps(params):
        step["each"] = "${find.items}"
    try:
        found = planned(of, find, get, jewels, step).verdict_by_id["step"].text
    except PolicyRefused:
        found = "refused"
    assert found == expected


def test_an_id_keeps_all_labels_but_untrusted() -> None:
    of = who(forbid("writes", end='when { context.labels.contains("customer") }'), labels=("shop.list_items=customer",))
    find = {"id": "find", "tool": "list_items", "params": {"query": "x"}}
    with pytest.raises(PolicyRefused):
        planned(of, find, {"id": "drop", "tool": "delete_item", "params": {"item_id": "${find.items[0].id}"}})


def test_a_plan_counts_what_its_own_steps_write() -> None:
    of = who(forbid("create_item", end="when { context.recent.writes >= 2 }"))
    item = {"params": {"name": "a", "price": 1}}
    chain = [{"id": f"s{n}", **({"after": f"s{n - 1}"} if n else {}), **item} for n in range(3)]
    with pytest.raises(PolicyRefused) as error:
        planned(of, *chain)
    assert error.value.details["id"] == "s2"
    assert {one.text for one in planned(of, *chain[:2]).verdicts} == {"permit: base"}
    at_once = planned(of, *({"id": f"s{n}", **item} for n in range(3)))
    assert {one.text for one in at_once.verdicts} == {"undecided: depends on the other steps"}


def test_a_step_that_may_be_asked_about_is_asked_about_before_the_batch() -> None:
    from mcpist.batch.execution.submission import Submission
    from mcpist.batch.options import DEFAULT_OPTIONS

    of = who(forbid("create_item", "@approve", 'when { context.args.name like "b*" }'))
    find = {"id": "find", "tool": "list_items"}
    made = planned(of, find, {"id": "open", "params": {"name": "${find.items[0].name}", "price": 1}})
    asked = Submission(made, [(step, tool) for _, step, tool in made.steps_by_line], DEFAULT_OPTIONS).destructive
    assert [(one.id, one.destroys, one.policy) for one in asked] == [("open", False, "create_item: Ask Ada.")]


def test_resources_and_prompts_of_a_server_are_decided_too() -> None:
    notes = Notes()
    catalogue = Catalogue("tests.core.sample", ("shop", "safe"), deployed=lambda: [notes])
    role = Role("notes", ("notes",), ("notes.*",))
    no_notes = '@id("no-notes") forbid (principal, action in Action::"notes.*", resource);'
    for rules, asked in (((no_notes,), 0), ((), 2)):
        of = Permissions(replace(who(*rules), roles=(role,)), catalogue)
        for use in (
            lambda: read_upstream(of, "notes", "file:///a", "r1", 5),  # noqa: B023 - called at once
            lambda: get_upstream_prompt(of, "notes", "greet", {}, "r2", 5),  # noqa: B023
        ):
            if asked:
                use()
            else:
                with pytest.raises(PolicyRefused):
                    use()
        assert len(notes.roles) == asked


WITHOUT = """
import sys
from dataclasses import replace
from mcpist.caller import Policies
from tests.core.sample import CATALOGUE, EVERYTHING, caller
from mcpist.running.policy import judge
from mcpist.tools.access.permissions import Permissions
from mcpist.batch.execution.plan import plan
from mcpist.running.gate import ToolUse, admit

def loaded(of):
    permissions = Permissions(of, CATALOGUE)
    admit(permissions, ToolUse("shop", "list_items", {}, "r"))
    plan('{"module":"shop","tool":"list_items"}', permissions)
    return sorted(name for name in sys.modules if name.startswith(("cedarpy", "mcpist.policies")))

assert loaded(caller(EVERYTHING)) == [], loaded(caller(EVERYTHING))
text = '@id("b") permit (principal, action, resource);'
assert "cedarpy" in loaded(replace(caller(EVERYTHING), policies=Policies(1, text)))
"""


def test_nothing_of_it_is_loaded_without_policies() -> None:
    root = Path(__file__).parents[3]
    paths = [str(root / "layers/core"), str(root / "layers/services"), str(root)]
    run = [sys.executable, "-c", f"import sys; sys.path[:0] = {paths}\n{WITHOUT}"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
