"""Destructive batches: which clients are asked, and what an answer permits."""

import json
from typing import Any

import pytest

from mcpist.aws.table import ledger_table
from mcpist.batch.execution import previews
from mcpist.batch.ledger import ledger
from mcpist.caller import Role, Subject
from mcpist.errors import UnseenTarget
from mcpist.files import records, storage
from mcpist.files.answers import store_content
from mcpist.files.content import FileContent
from mcpist.people import directory
from mcpist.people.questions import SORT_KEY, accept
from mcpist.running.destructive_use import DestructiveUse, TargetPreview, digest_of, order_targets
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.audit_items import audit_items
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.mcp_endpoint.ledger_driver import LedgerDriver

DROP = '{"id":"drop","module":"rag","tool":"delete_doc","params":{"path":"notes/old.md"}}'
LINES = f"""\
{{"id":"find","module":"rag","tool":"list_docs"}}
{DROP}
{{"id":"all","module":"rag","tool":"delete_doc","each":"${{find.items}}","params":{{"path":"${{each.path}}"}}}}"""
YES = {"action": "accept", "content": {"confirm": True}}


@pytest.fixture
def door(endpoint: EndpointClient, aws: list[str]) -> EndpointClient:
    """A client whose person may use destructive tools."""
    members.put_role("acme", Role("members", modules=NAMES, allow=("rag.*",), destructive=True))
    directory.access_cache.clear()
    aws.clear()
    return endpoint


@pytest.fixture
def asker(door: EndpointClient) -> EndpointClient:
    """A client that can show its person a form."""
    return door.with_capabilities(elicitation={"form": {}})


def answered(door: EndpointClient, question: dict[str, Any], reply: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Send a batch again with the person's answer and return the response."""
    params = {"name": "batch", "arguments": {"commands": LINES}} | changes
    replies = {"requestState": question["requestState"], "inputResponses": {"confirm": reply}}
    return door.request("tools/call", **{**replies, **params})


def batch_of(answer: dict[str, Any]) -> str:
    text: str = answer["result"]["content"][0]["text"]
    return text.split()[1].rstrip(":")


# -- clients without forms ------------------------------------------------------------------------------


def test_a_dry_run_lists_destructive_steps_with_their_targets(door: EndpointClient, aws: list[str]) -> None:
    _, (text,) = door.call("batch", commands=LINES, dry_run=True)
    plan = json.loads(text)
    assert plan["destructive"] == [
        {"line": 2, "id": "drop", "tool": "rag.delete_doc", "targets": {"path": "notes/old.md"}},
        {
            "line": 3,
            "id": "all",
            "tool": "rag.delete_doc",
            "targets": {"path": "${each.path}"},
            "each": "${find.items}",
        },
    ]
    assert (plan["form"], plan["depth"]) == ("machine", 2)
    assert plan["picture"].startswith("flowchart")
    assert not {"BatchWriteItem", "StartExecution", "UpdateItem"} & set(aws)


def test_without_forms_a_destructive_batch_needs_confirm(door: EndpointClient, aws: list[str]) -> None:
    error = door.error("batch", commands=LINES)
    assert error["code"] == "CONFIRMATION_REQUIRED"
    assert 'line 2, drop: rag.delete_doc {"path":"notes/old.md"}' in error["message"]
    assert 'for each of "${find.items}"' in error["message"]
    assert [step["id"] for step in error["details"]["destructive"]] == ["drop", "all"]
    assert not {"BatchWriteItem", "StartExecution"} & set(aws)
    failed, (summary, *_) = door.call("batch", commands=LINES, confirm=True)
    assert not failed
    assert "running, 0 of 3 steps" in summary


def test_a_batch_that_destroys_nothing_needs_no_confirmation(door: EndpointClient) -> None:
    assert not door.call("batch", commands='{"module":"rag","tool":"list_tags"}')[0]


@pytest.mark.parametrize("capabilities", [{"elicitation": {"url": {}}}, {"sampling": {}}])
def test_a_client_without_forms_is_not_asked(door: EndpointClient, capabilities: dict[str, Any]) -> None:
    assert door.with_capabilities(**capabilities).error("batch", commands=LINES)["code"] == "CONFIRMATION_REQUIRED"


def test_a_client_of_an_older_protocol_is_not_asked(asker: EndpointClient) -> None:
    event = asker.event("destructive_batch", mcp_protocol_version="2025-11-25")
    text = asker.send(event)[2]["result"]["content"][0]["text"]
    assert json.loads(text)["code"] == "CONFIRMATION_REQUIRED"


# -- clients with forms ---------------------------------------------------------------------------------


def test_a_client_with_forms_is_asked_once_before_anything_runs(asker: EndpointClient, aws: list[str]) -> None:
    question = asker.send(asker.event("destructive_batch"))[2]["result"]
    assert question["resultType"] == "input_required"
    asked = question["inputRequests"]["confirm"]
    assert asked["method"] == "elicitation/create"
    assert 'line 1, drop: rag.delete_doc {"path":"notes/old.md"}' in asked["params"]["message"]
    assert asked["params"]["requestedSchema"]["required"] == ["confirm"]
    assert not {"BatchWriteItem", "StartExecution"} & set(aws)


def test_an_empty_elicitation_capability_means_forms(door: EndpointClient) -> None:
    assert door.with_capabilities(elicitation={}).result("batch", commands=LINES)["resultType"] == "input_required"


def test_confirm_does_not_replace_the_question_to_the_person(asker: EndpointClient) -> None:
    assert asker.result("batch", commands=LINES, confirm=True)["resultType"] == "input_required"


def test_a_yes_runs_the_batch_that_was_asked_about(asker: EndpointClient) -> None:
    question = asker.result("batch", commands=LINES)
    assert batch_of(answered(asker, question, YES)) == question["requestState"]


def test_an_answer_that_is_sent_twice_starts_one_batch(asker: EndpointClient, aws: list[str]) -> None:
    question = asker.result("batch", commands=LINES)
    first = answered(asker, question, YES)
    ledger_table().update(f"acme#{question['requestState']}", SORT_KEY, "SET #until = :past", values={":past": 1})
    aws.clear()
    assert batch_of(answered(asker, question, YES)) == batch_of(first)
    assert not {"BatchWriteItem", "StartExecution"} & set(aws)


def test_of_two_answers_at_once_one_starts_the_batch(asker: EndpointClient) -> None:
    question = asker.result("batch", commands=LINES)
    caller = directory.identify(Subject(asker.login.issuer, "uma"))
    assert [accept(caller, question["requestState"]) for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    "reply",
    [
        {"action": "decline"},
        {"action": "cancel", "content": {"confirm": True}},
        {"action": "accept"},
        {"action": "accept", "content": {"confirm": False}},
        {"action": "accept", "content": {"confirm": "yes"}},
    ],
)
def test_every_answer_but_a_yes_is_a_no(asker: EndpointClient, aws: list[str], reply: dict[str, Any]) -> None:
    question = asker.result("batch", commands=LINES)
    aws.clear()
    result = answered(asker, question, reply)["result"]
    error = json.loads(result["content"][0]["text"])
    assert (result["isError"], error["code"]) == (True, "CONFIRMATION_REQUIRED")
    assert "did not agree" in error["message"]
    assert not {"BatchWriteItem", "StartExecution"} & set(aws)


def test_a_batch_that_nobody_agreed_to_leaves_a_row_for_each_tool(door: EndpointClient, asker: EndpointClient) -> None:
    question = asker.result("batch", commands=DROP)
    assert set(audited()) == {"rag.get_doc"}  # the question shows the target
    answered(asker, question, {"action": "decline"}, arguments={"commands": DROP})
    assert audited().count("rag.delete_doc") == 1
    door.error("batch", commands="\n".join([DROP, DROP.replace('"drop"', '"more"')]))
    assert audited().count("rag.delete_doc") == 2


def test_a_retry_without_an_answer_is_asked_again(asker: EndpointClient) -> None:
    question = asker.result("batch", commands=LINES)
    again = asker.result("batch", commands=LINES, more={"requestState": question["requestState"]})
    assert again["resultType"] == "input_required"


@pytest.mark.parametrize(
    "arguments",
    [
        {"commands": LINES.replace("old.md", "new.md")},
        {"commands": LINES.replace('"find"', '"seek"').replace("find.", "seek.")},
        {"commands": LINES, "timeout": 3_000},
        {"commands": "\n".join([LINES, LINES.splitlines()[1].replace('"drop"', '"more"')])},
    ],
    ids=["another target", "another name", "a longer time", "a further step"],
)
def test_an_answer_is_not_valid_for_another_batch(
    asker: EndpointClient, aws: list[str], arguments: dict[str, Any]
) -> None:
    question = asker.result("batch", commands=LINES)
    aws.clear()
    error = answered(asker, question, YES, arguments=arguments)["error"]
    assert (error["code"], error["data"]["details"]["field"]) == (-32602, "requestState")
    assert not {"BatchWriteItem", "StartExecution"} & set(aws)


def test_an_answer_is_not_valid_for_another_person(asker: EndpointClient) -> None:
    question = asker.result("batch", commands=LINES)
    assert answered(asker.of("ada"), question, YES)["error"]["code"] == -32602


def test_an_answer_is_not_valid_for_other_roles(asker: EndpointClient) -> None:
    question = asker.result("batch", commands=LINES)
    more = Role("more", modules=NAMES, allow=("rag.*",), destructive=True)
    members.put_role("acme", more)
    subject = Subject(asker.login.issuer, "uma")
    members.put_user("acme", "uma", name="Uma", subject=subject, roles=["members", "more"])
    directory.access_cache.clear()
    assert answered(asker, question, YES)["error"]["code"] == -32602


@pytest.mark.parametrize("state", ["b_0123456789abcdef", "made up", "x" * 5_000])
def test_an_unknown_state_is_refused(asker: EndpointClient, aws: list[str], state: str) -> None:
    assert answered(asker, {"requestState": state}, YES)["error"]["code"] == -32602
    assert not {"BatchWriteItem", "StartExecution"} & set(aws)


@pytest.mark.parametrize("state", ["made up", "x" * 5_000])
def test_a_malformed_state_is_not_looked_up(asker: EndpointClient, aws: list[str], state: str) -> None:
    answered(asker, {"requestState": state}, YES)
    assert "GetItem" not in aws


def test_a_yes_without_a_state_is_asked(asker: EndpointClient) -> None:
    more = {"inputResponses": {"confirm": YES}}
    assert asker.result("batch", commands=LINES, more=more)["resultType"] == "input_required"


def test_an_answer_after_ten_minutes_is_refused(asker: EndpointClient) -> None:
    question = asker.result("batch", commands=LINES)
    pk = f"acme#{question['requestState']}"
    ledger_table().update(pk, SORT_KEY, "SET #until = :past", values={":past": 1})
    assert answered(asker, question, YES)["error"]["code"] == -32602


def test_an_answer_whose_batch_failed_to_start_cannot_be_used_again(asker: EndpointClient) -> None:
    question = asker.result("batch", commands=LINES)
    pk = f"acme#{question['requestState']}"
    ledger_table().update(pk, SORT_KEY, "SET #accepted_at = :past", values={":past": 1})
    assert answered(asker, question, YES)["error"]["code"] == -32602


def test_a_confirmed_batch_can_continue_as_a_task(asker: EndpointClient) -> None:
    follower = asker.with_capabilities(extensions={"io.modelcontextprotocol/tasks": {}})
    question = follower.result("batch", commands=LINES)
    assert question["resultType"] == "input_required"
    task = answered(follower, question, YES)["result"]
    assert (task["resultType"], task["taskId"]) == ("task", question["requestState"])
    assert "requestState" not in task


def test_resume_asks_only_about_steps_that_run_again(asker: EndpointClient, door: EndpointClient) -> None:
    lines = f'{DROP}\n{{"id":"tags","module":"rag","tool":"list_tags","after":["drop"]}}'
    _, (summary, *_) = door.call("batch", commands=lines, confirm=True)
    driver = LedgerDriver(summary.split()[1].rstrip(":"))
    driver.finish("drop", raw={"path": "notes/old.md"})
    driver.finish("tags", "failed")
    assert "content" in asker.result("batch", resume=driver.head.batch)


def test_the_question_is_in_japanese_if_the_request_asks_for_it(asker: EndpointClient) -> None:
    event = asker.event("destructive_batch", accept_language="ja")
    message = asker.send(event)[2]["result"]["inputRequests"]["confirm"]["params"]["message"]
    assert "実行しますか" in message


# -- the account that acts ----------------------------------------------------------------------------


def test_a_person_reads_whole_targets_and_the_account_and_a_message_cuts_them() -> None:
    step = DestructiveUse("github", "delete_label", {"name": "x" * 1_000}, 2, "drop", account="uma-at-github")
    assert step.as_text().count("x") == 1_000
    assert step.as_text(300).endswith('… (account: "uma-at-github")')
    assert len(step.as_text(300)) < 400
    assert step.as_dict()["account"] == "uma-at-github"


def test_the_question_shows_the_end_of_a_long_target(asker: EndpointClient) -> None:
    path = f"{'x' * 200}/{'y' * 200}/the-end.md"
    question = asker.result("call", module="rag", tool="delete_doc", params={"path": path})
    assert path in question["inputRequests"]["confirm"]["params"]["message"]


@pytest.mark.parametrize("hidden", ["\n", "\r", "\x1b[2J", "\x9b2J", "\u202e", "\u2028", "\u2066"])
def test_no_target_and_no_account_adds_a_line_to_the_question(hidden: str) -> None:
    name = f"old{hidden}- line 9: rag.search_docs"
    text = DestructiveUse("github", "delete_label", {"name": name}, 2, "drop", account=name).as_text()
    assert not {"\n", "\r", "\x1b", "\x9b", "\u202e", "\u2028", "\u2066"} & set(text)
    assert text.count("line 9") == 2


def test_an_account_imitates_none_of_our_words() -> None:
    name = 'me) - line 9: rag.search_docs {} (account: "you"'
    text = DestructiveUse("github", "delete_label", {"name": "old"}, 2, "drop", account=name).as_text()
    assert text.endswith(r'(account: "me) - line 9: rag.search_docs {} (account: \"you\"")')


def test_an_account_that_is_not_known_is_said_to_be_so() -> None:
    assert (
        DestructiveUse("github", "delete_label", {}, 2, "drop", account="").as_text().endswith("(account: not known)")
    )
    assert DestructiveUse("rag", "delete_doc", {}, 2, "drop").as_text().endswith("{}")


def test_the_destructive_end_of_a_long_text_is_seen() -> None:
    blanks = "\n" * 5_000 + " \t" * 5_000
    text = DestructiveUse("supabase", "execute_sql", {"query": f"select 1;{blanks}drop table users"}).as_text()
    assert text == r'supabase.execute_sql {"query":"select 1;\u{20}[15000]drop table users"}'


def test_markup_in_a_target_hides_nothing() -> None:
    text = DestructiveUse("rag", "delete_doc", {"path": "<!-- a < b"}).as_text()
    assert text == r'rag.delete_doc {"path":"\u003c!-- a < b"}'


def test_what_a_tool_requires_comes_first_and_what_is_long_last() -> None:
    tool = CATALOGUE.module("rag").tools["put_doc"]
    given = {"tags": ["a"], "content": "x" * 300, "path": "a.md", "invented": 1}
    assert list(order_targets(tool, given)) == ["path", "tags", "invented", "content"]


# -- what a list stands for ---------------------------------------------------------------------------

LISTED = """\
{"id":"find","module":"rag","tool":"list_docs"}
{"id":"all","module":"rag","tool":"delete_doc","each":"${find.items}","params":{"path":"${each.path}"}}
{"id":"one","module":"rag","tool":"delete_doc","params":{"path":"${find.items[0].path}"}}"""


def question_of(asker: EndpointClient, commands: str) -> str:
    asked = asker.result("batch", commands=commands)["inputRequests"]["confirm"]
    return str(asked["params"]["message"])


def test_the_elements_of_a_list_are_shown_or_counted(asker: EndpointClient) -> None:
    for number in range(3):
        asker.call("call", module="rag", tool="put_doc", params={"path": f'd/{number}".md', "content": "x"})
    _, all_, one, _ = question_of(asker, LISTED).split("\n")
    paths = [rf'{{"path":"d/{number}\".md"}}' for number in range(3)]
    shown = all_.partition(' for each of "${find.items}" (3 now: ')[2]
    about = [rf' (target: {{"title":"{number}\"","content":"x"}})' for number in range(3)]
    assert shown == f"{', '.join(map(''.join, zip(paths, about, strict=True)))})"
    assert f"(now {paths[0]} (target: " in one


def written(door: EndpointClient, count: int = 3) -> list[str]:
    paths = [f"d/{number}.md" for number in range(count)]
    for path in paths:
        assert not door.call("call", module="rag", tool="put_doc", params={"path": path, "content": "x"})[0]
    return paths


def shown_of(batch: str) -> dict[str, tuple[str, ...] | None]:
    return {entry.step.id: entry.shown for entry in ledger.get_entries(f"acme#{batch}")}


def test_a_yes_is_for_what_was_shown_not_for_what_the_list_is_now(asker: EndpointClient) -> None:
    paths = written(asker)
    question = asker.result("batch", commands=LISTED)
    asker.call("call", module="rag", tool="put_doc", params={"path": "d/late.md", "content": "x"})
    batch = batch_of(answered(asker, question, YES, arguments={"commands": LISTED}))
    digests = tuple(digest_of({"path": path}) for path in paths)
    assert shown_of(batch) == {"find": None, "all": digests, "one": digests[:1]}


def test_a_list_that_could_not_be_shown_permits_nothing(asker: EndpointClient) -> None:
    first = '{"id":"first","module":"rag","tool":"list_tags"}'
    hidden = f"{first}\n" + LISTED.replace('"tool":"list_docs"', '"tool":"list_docs","when":"${first.items}"')
    question = asker.result("batch", commands=hidden)
    assert shown_of(batch_of(answered(asker, question, YES, arguments={"commands": hidden})))["all"] == ()


def test_a_file_of_a_list_is_shown_by_its_content_and_is_that_of_the_run(asker: EndpointClient) -> None:
    written(asker)
    filed = LISTED.replace('{"path":"${each.path}"}', '{"path":"${each.path}#${find.file.sha256}"}')
    question = asker.result("batch", commands=filed)
    (file,) = records.find_all("acme", "uma")
    batch = batch_of(answered(asker, question, YES, arguments={"commands": filed}))
    shown = tuple(digest_of({"path": f"d/{number}.md#{file.sha256}"}) for number in range(3))
    assert shown_of(batch)["all"] == shown
    made = FileContent(storage.load(file.key, file.sha256), file.content_type)
    assert store_content("acme", "uma", made) == file.reference.model_dump()


def test_a_list_is_shown_as_far_as_a_person_can_read_it(asker: EndpointClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previews, "MAX_PREVIEW_ELEMENTS", 2)
    paths = written(asker)
    question = asker.result("batch", commands=LISTED)
    assert "3 now, of which only these run: " in question["inputRequests"]["confirm"]["params"]["message"]
    batch = batch_of(answered(asker, question, YES, arguments={"commands": LISTED}))
    assert shown_of(batch)["all"] == tuple(digest_of({"path": path}) for path in paths[:2])


def test_without_forms_a_yes_is_for_what_the_refusal_has_shown(door: EndpointClient) -> None:
    paths = written(door)
    for _ in range(2):
        assert door.error("batch", commands=LISTED)["code"] == "CONFIRMATION_REQUIRED"
    door.call("call", module="rag", tool="put_doc", params={"path": "d/late.md", "content": "x"})
    _, (summary, *_) = door.call("batch", commands=LISTED, confirm=True)
    digests = tuple(digest_of({"path": path}) for path in paths)
    assert shown_of(summary.split()[1].rstrip(":"))["all"] == digests


def test_without_forms_a_yes_to_a_list_that_nobody_was_shown_is_refused(door: EndpointClient) -> None:
    written(door)
    error = door.error("batch", commands=LISTED, confirm=True)
    assert error["code"] == "CONFIRMATION_REQUIRED"
    assert len(error["details"]["destructive"][0]["now"]["targets"]) == 3
    assert not door.call("batch", commands=LISTED, confirm=True)[0]


def test_a_resumption_shows_and_permits_what_is_left_of_a_list(asker: EndpointClient) -> None:
    paths = written(asker)
    question = asker.result("batch", commands=LISTED)
    batch = batch_of(answered(asker, question, YES, arguments={"commands": LISTED}))
    driver = LedgerDriver(batch)
    driver.finish("find", raw=[{"path": path} for path in paths])
    unseen = UnseenTarget(tool="rag.delete_doc", target="a")
    driver.finish_each("all", [{}, unseen, {}], [{"path": path} for path in paths])
    driver.finish("one", raw={})
    asked = asker.result("batch", resume=batch)
    (line,) = [
        line for line in asked["inputRequests"]["confirm"]["params"]["message"].split("\n") if "all" in line[:15]
    ]
    assert '(1 now: {"path":"d/1.md"}' in line, line
    resumed = batch_of(answered(asker, asked, YES, arguments={"resume": batch}))
    assert shown_of(resumed)["all"] == (digest_of({"path": "d/1.md"}),)


def test_a_long_list_is_counted_and_has_a_sample() -> None:
    preview = TargetPreview([{"path": str(number)} for number in range(20)], 250)
    assert preview.as_text(lambda _: "").startswith('250 now, of which only these run: {"path":"0"}, {"path":"1"}, ')


@pytest.mark.parametrize(
    "source",
    [
        {"tool": "list_docs", "each": "${first.items}"},
        {"tool": "list_docs", "params": {"limit": "${first.items[0].count}"}},
        {"tool": "list_docs", "when": "${first.items}"},
        {"tool": "put_doc", "params": {"path": "a.md", "content": "x"}},
    ],
)
def test_only_plain_reads_are_made_for_a_question(asker: EndpointClient, source: dict[str, Any]) -> None:
    first = {"id": "first", "module": "rag", "tool": "list_tags"}
    drop = {"id": "drop", "module": "rag", "tool": "delete_doc", "each": "${find.items}"}
    lines = [first, {"id": "find", "module": "rag"} | source, drop | {"params": {"path": "${each.path}"}}]
    message = question_of(asker, "\n".join(map(json.dumps, lines)))
    assert (
        'for each of "${find.items}" (which ones is not known yet: nothing is destroyed before it is shown)' in message
    )
    assert audited() == []


def test_a_read_for_a_question_leaves_a_row(asker: EndpointClient) -> None:
    question_of(asker, LISTED)
    assert audited() == ["rag.list_docs"]


def audited() -> list[str]:
    rows = audit_items("acme")
    return [row["tool"] for row in rows]


def test_a_declined_question_cannot_be_agreed_to_later(asker: EndpointClient, aws: list[str]) -> None:
    question = asker.result("batch", commands=LINES)
    answered(asker, question, {"action": "decline"})
    aws.clear()
    assert answered(asker, question, YES)["error"]["code"] == -32602
    assert not {"BatchWriteItem", "StartExecution"} & set(aws)


# -- calls --------------------------------------------------------------------------------------------

DELETE = {"module": "rag", "tool": "delete_doc", "params": {"path": "notes/old.md"}}


def test_a_destructive_call_asks_as_a_batch_does(asker: EndpointClient) -> None:
    question = asker.result("call", **DELETE, confirm=True)
    assert question["resultType"] == "input_required"
    message = question["inputRequests"]["confirm"]["params"]["message"]
    assert '- rag.delete_doc {"path":"notes/old.md"}' in message


def test_a_yes_runs_the_call_that_was_asked_about(asker: EndpointClient) -> None:
    question = asker.result("call", **DELETE)
    result = answered(asker, question, YES, name="call", arguments=DELETE)["result"]
    assert json.loads(result["content"][0]["text"])["code"] == "FILE_NOT_FOUND"
    again = answered(asker, question, YES, name="call", arguments=DELETE)
    assert again["error"]["code"] == -32602


def test_a_no_to_a_call_is_an_error(asker: EndpointClient) -> None:
    question = asker.result("call", **DELETE)
    result = answered(asker, question, {"action": "decline"}, name="call", arguments=DELETE)["result"]
    assert json.loads(result["content"][0]["text"])["code"] == "CONFIRMATION_REQUIRED"


def test_a_yes_to_a_call_starts_no_batch_and_the_other_way_round(asker: EndpointClient) -> None:
    assert answered(asker, asker.result("call", **DELETE), YES)["error"]["code"] == -32602
    question = asker.result("batch", commands=LINES)
    assert answered(asker, question, YES, name="call", arguments=DELETE)["error"]["code"] == -32602


def test_a_client_with_forms_and_links_is_asked_by_a_form(asker: EndpointClient) -> None:
    both = asker.with_capabilities(elicitation={"form": {}, "url": {}})
    question = both.result("call", **DELETE)
    result = answered(both, question, YES, name="call", arguments=DELETE)["result"]
    assert json.loads(result["content"][0]["text"])["code"] == "FILE_NOT_FOUND"


def test_without_forms_a_destructive_call_needs_confirm(door: EndpointClient) -> None:
    assert door.error("call", **DELETE)["code"] == "CONFIRMATION_REQUIRED"
    assert door.error("call", **DELETE, confirm=True)["code"] == "FILE_NOT_FOUND"
