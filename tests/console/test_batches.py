"""The pages of batches: the list, a batch while it runs and afterwards, its steps, and what a person changes."""

import gzip
import json
import zlib
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from console.batches.pages import EXAMPLE_BATCH
from console.batches.watching import file_content
from mcpist.batch.execution import opening, submission
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Ending, Entry, Header, StoredJson
from mcpist.batch.options import BatchOptions
from mcpist.caller import Role, Subject
from mcpist.errors import ConfirmationPending, FileNotFound, StoreUnavailable
from mcpist.files.answers import keep_download
from mcpist.files.content import FileContent
from mcpist.people import directory, questions
from mcpist.running.confirmation import Agreement
from mcpist.running.destructive_use import digest_of
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.rag.document_store import DocumentStore
from tests import members
from tests.console.conftest import Browser, audited
from tests.full_issuer import FullIssuer
from tests.mcp_endpoint.ledger_driver import LedgerDriver
from tests.services.rag.bucket import store

FIND = {"id": "find", "module": "rag", "tool": "list_tags", "output": True}
READ = {"id": "read", "module": "rag", "tool": "list_docs", "after": ["find"], "output": True}
DROP = {"id": "drop", "module": "rag", "tool": "delete_doc", "params": {"path": "old.md"}}
CANARY = "tag-canary"


def permissions_of(login: FullIssuer, user: str = "uma") -> Permissions:
    directory.access_cache.clear()
    return Permissions(directory.identify(Subject(login.issuer, user)), CATALOGUE)


def start(login: FullIssuer, *steps: dict[str, Any], user: str = "uma") -> tuple[Header, LedgerDriver]:
    permissions = permissions_of(login, user)
    head = submission.prepare(permissions, list(steps), BatchOptions(timeout=60), "request-0").submit(
        permissions, Agreement()
    )
    return head, LedgerDriver(head.batch)


@pytest.fixture
def destroyer(uma: Browser) -> Iterator[Browser]:
    """A browser of a person who may use destructive tools."""
    members.put_role("acme", Role("members", modules=NAMES, allow=("rag.*",), destructive=True))
    directory.access_cache.clear()
    yield uma
    directory.access_cache.clear()


def ask(login: FullIssuer, *steps: dict[str, Any]) -> str:
    """Submit a batch that destroys something, as a program does, and return the id of the question."""
    permissions = permissions_of(login)
    commands = list(steps or (DROP, FIND))
    prepared = submission.prepare(permissions, commands, BatchOptions(timeout=60), "request-0")
    context = {"commands": commands, "timeout": 60}
    with pytest.raises(ConfirmationPending) as pending:
        prepared.submit(permissions, Agreement(can_ask=True), context)
    return str(pending.value.details["confirmation"])


def query_of(answer: dict[str, Any]) -> dict[str, list[str]]:
    """Return the query of the page that a response leads to."""
    assert answer["statusCode"] == 303, answer["body"]
    return parse_qs(urlsplit(answer["headers"]["location"]).query)


def test_the_example_of_the_empty_list_names_tools_that_there_are() -> None:
    steps = [json.loads(line) for line in EXAMPLE_BATCH.splitlines()[1:-1]]
    assert steps
    assert all(step["tool"] in CATALOGUE.index.modules[step["module"]].tools for step in steps)


def test_a_person_sees_own_batches_the_newest_first(uma: Browser, login: FullIssuer) -> None:
    first, _ = start(login, FIND)
    second, _ = start(login, FIND, READ)
    other, _ = start(login, FIND, user="ada")
    page = uma.get("/batches")["body"]
    assert page.index(second.batch) < page.index(first.batch)
    assert other.batch not in page
    assert "0 of 2 steps" in page


def test_an_empty_list_says_how_to_start_a_batch(uma: Browser) -> None:
    assert "mcpist batch" in uma.get("/batches")["body"]


def test_the_list_costs_the_same_requests_for_every_number_of_batches(
    uma: Browser, login: FullIssuer, aws: list[str]
) -> None:
    for _ in range(12):
        start(login, FIND)
    uma.get("/batches")
    aws.clear()
    uma.get("/batches")
    assert aws.count("BatchGetItem") == 1
    assert aws.count("Query") <= 4, "who asks, a page of the list, and the questions and the approvals that wait"


def test_a_running_batch_is_a_live_picture(uma: Browser, login: FullIssuer) -> None:
    head, driver = start(login, FIND, READ)
    page = uma.get(f"/batches?id={head.batch}")["body"]
    assert 'hx-trigger="every 1s"' in page
    assert 'class="step ready"' in page
    assert 'class="step waiting"' in page
    assert 'aria-label="find, rag.list_tags, ready"' in page
    driver.finish("find", raw=[{"tag": CANARY, "count": 2}])
    page = uma.get(f"/batches?id={head.batch}")["body"]
    assert 'class="step succeeded"' in page
    assert "1 of 2 steps" in page


def test_a_batch_that_is_done_is_not_asked_for_again_and_shows_its_results(uma: Browser, login: FullIssuer) -> None:
    head, driver = start(login, FIND, READ)
    driver.finish("find", raw=[{"tag": CANARY, "count": 2}])
    driver.finish("read", "failed", error=FileNotFound(path="x.md"))
    page = uma.get(f"/batches?id={head.batch}")["body"]
    assert 'hx-trigger="every' not in page
    assert CANARY in page
    assert "done with errors" in page
    panel = uma.get(f"/batches?id={head.batch}&step=read")["body"]
    assert "FILE_NOT_FOUND" in panel


def test_a_page_of_a_batch_has_the_same_requests_for_any_number_of_steps(
    uma: Browser, login: FullIssuer, aws: list[str]
) -> None:
    counts = []
    for size in (2, 60):
        head, _ = start(login, *({**FIND, "id": f"s{number}"} for number in range(size)))
        uma.get(f"/batches?id={head.batch}")
        aws.clear()
        uma.get(f"/batches?id={head.batch}")
        counts.append(sorted(aws))
    assert counts[0] == counts[1]


def test_a_hundred_steps_fit_into_fifty_kilobytes(uma: Browser, login: FullIssuer) -> None:
    steps = ({**FIND, "id": f"step-{number}", "after": [f"step-{number // 2}"]} for number in range(1, 100))
    head, _ = start(login, {**FIND, "id": "step-0"}, *steps)
    page = uma.get(f"/batches?id={head.batch}")["body"]
    assert len(gzip.compress(page.encode())) < 20_000


def test_a_cancelled_batch_starts_no_further_step_and_can_be_resumed(uma: Browser, login: FullIssuer) -> None:
    head, driver = start(login, FIND, READ)
    driver.finish("find", raw=[])
    cancelled = query_of(uma.submit(f"/batches?id={head.batch}", having="cancel"))
    assert cancelled == {"id": [head.batch], "done": ["batch_cancelled"]}
    assert ledger.get_header(head.pk).cancelled_at is not None
    resumed = query_of(uma.submit(f"/batches?id={head.batch}", having="resume"))
    new = ledger.get_header(f"acme#{resumed['id'][0]}")
    assert new.resumes == head.batch
    assert list(new.outcome.values()) == ["succeeded"]


def test_a_result_is_kept_as_a_file_of_its_user(uma: Browser, login: FullIssuer) -> None:
    head, driver = start(login, FIND)
    driver.finish("find", raw=[{"tag": CANARY, "count": 2}])
    kept = uma.submit(f"/batches?id={head.batch}&step=find", having="keep")
    page = uma.get(urlsplit(kept["headers"]["location"])._replace(scheme="", netloc="").geturl())["body"]
    assert CANARY in page
    assert "hash verified" in page


@pytest.mark.usefixtures("uma")
def test_the_kept_result_of_a_download_is_the_file_itself(login: FullIssuer) -> None:
    head, _ = start(login, FIND)
    permissions = permissions_of(login)
    content = FileContent(b"Exit code 1", "text/plain", "logs.txt")
    kept = StoredJson(zlib.compress(json.dumps(keep_download(permissions.caller, content)).encode()))
    log = Step(id="log", line=1, has_explicit_id=True, module="github", tool="get_job_logs", params={})
    entry = Entry(0, log, "reads", ending=Ending("succeeded", result=kept))
    assert file_content(head, entry, permissions) == content


def test_a_question_shows_tools_targets_and_accounts_and_is_answered_once(
    destroyer: Browser, login: FullIssuer
) -> None:
    question = ask(login)
    page = unescape(destroyer.get(f"/batches?confirm={question}")["body"])
    assert "rag.delete_doc" in page
    assert '"path": "old.md"' in page
    started = query_of(destroyer.submit(f"/batches?confirm={question}", having="yes"))
    assert started["id"] == [question]
    again = destroyer.get(f"/batches?confirm={question}")
    assert query_of(again) == {"id": [question]}
    assert ledger.get_header(f"acme#{question}").ids == ("drop", "find")


def test_a_yes_on_the_page_is_for_what_the_page_has_shown(destroyer: Browser, login: FullIssuer) -> None:
    each = {**DROP, "id": "all", "each": "${docs.items}", "params": {"path": "${each.path}"}}
    docs = {"id": "docs", "module": "rag", "tool": "list_docs"}
    store = DocumentStore.of("acme")
    store.write("a.md", "# A", None)
    question = ask(login, docs, each)
    store.write("b.md", "# B", None)
    assert '"b.md"' in unescape(destroyer.get(f"/batches?confirm={question}")["body"])
    store.write("late.md", "# Late", None)
    form = [("action", "confirm"), ("question", question), ("agreed", "yes")]
    assert query_of(destroyer.post("/batches", form))["id"] == [question]
    shown = {entry.step.id: entry.shown for entry in ledger.get_entries(f"acme#{question}")}
    assert shown == {"docs": None, "all": tuple(digest_of({"path": path}) for path in ("a.md", "b.md"))}


def test_a_person_who_declines_runs_nothing(destroyer: Browser, login: FullIssuer) -> None:
    question = ask(login)
    form = [("action", "confirm"), ("question", question), ("agreed", "no")]
    assert query_of(destroyer.post("/batches", form)) == {"done": ["batch_declined"]}
    assert destroyer.get(f"/batches?id={question}")["statusCode"] == 404
    assert destroyer.post("/batches", [*form[:2], ("agreed", "yes")])["statusCode"] != 303
    assert destroyer.get(f"/batches?id={question}")["statusCode"] == 404


def test_nobody_else_sees_or_answers_a_question(ada: Browser, login: FullIssuer) -> None:
    members.put_role("acme", Role("members", modules=NAMES, allow=("rag.*",), destructive=True))
    question = ask(login)
    page = ada.get(f"/batches?confirm={question}")
    assert page["statusCode"] == 404
    assert "old.md" not in page["body"]
    answered = ada.post("/batches", [("action", "confirm"), ("question", question), ("agreed", "yes")])
    assert answered["statusCode"] == 404
    assert ada.get(f"/batches?id={question}")["statusCode"] == 404


def test_a_user_sees_nothing_of_others(uma: Browser, login: FullIssuer) -> None:
    head, _ = start(login, FIND, user="ada")
    assert uma.get(f"/batches?id={head.batch}")["statusCode"] == 404
    assert uma.get("/batches?of=everybody")["statusCode"] == 403
    rows = [(row["tool"], row["outcome"]) for row in audited(user="uma")]
    assert rows == [("batches.list", "AUTHORIZATION_ERROR"), ("console.sign_in", "succeeded")]
    for action in ("cancel", "resume", "keep"):
        answer = uma.post("/batches", [("action", action), ("id", head.batch), ("step", "find")])
        assert answer["statusCode"] == 404, action


def test_an_administrators_look_is_in_the_audit_and_shows_no_result(ada: Browser, login: FullIssuer) -> None:
    head, driver = start(login, {**FIND, "params": {}}, user="uma")
    driver.finish("find", raw=[{"tag": CANARY, "count": 2}])
    assert head.batch in ada.get("/batches?of=everybody")["body"]
    for path in (f"/batches?id={head.batch}", f"/batches?id={head.batch}&step=find"):
        page = ada.get(path)["body"]
        assert CANARY not in page
        assert 'hx-trigger="every' not in page, "each look would be a row"
    rows = audited(batch=head.batch, event="look")
    assert len(rows) == 2
    kept = ada.post("/batches", [("action", "keep"), ("id", head.batch), ("step", "find")])
    assert kept["statusCode"] == 404


def test_an_administrator_opens_results_with_a_reason_that_their_user_sees(ada: Browser, login: FullIssuer) -> None:
    uma = another_browser(login, "uma")
    head, driver = start(login, {**FIND, "params": {}}, user="uma")
    driver.finish("find", raw=[{"tag": CANARY, "count": 2}])
    path, step = f"/batches?id={head.batch}", f"/batches?id={head.batch}&step=find"
    assert "Opened by others" not in uma.get("/batches")["body"]
    for wrong in ("", " ", "x" * 201):
        assert open_results(ada, head.batch, wrong)["statusCode"] == 400
    assert CANARY not in ada.get(path)["body"]
    sent = ada.submit(path, having="open", reason="The export of <b>today</b> is wrong")
    assert sent["headers"]["location"].endswith("done=batch_opened")
    for page in (path, step):
        assert CANARY in ada.get(page)["body"]
    (row,) = [row for row in audited(batch=head.batch, event="look") if row["tool"] == "batches.open"]
    assert (row["user"], row["target"]) == ("ada", f"batches.{head.batch}")
    assert row["after"]["reason"] == "The export of <b>today</b> is wrong"
    assert "Opened by others" in uma.get("/batches")["body"]
    seen = uma.get(path)["body"].partition("Administrators who opened the results")[2]
    assert "ada" in seen
    assert "The export of &lt;b&gt;today&lt;/b&gt; is wrong" in seen
    kept = ada.post("/batches", [("action", "keep"), ("id", head.batch), ("step", "find")])
    assert kept["statusCode"] == 404, "the file is its user's"


def another_browser(login: FullIssuer, sub: str) -> Browser:
    """A browser of a second person."""
    browser = Browser(login)
    browser.get(browser.decide(browser.get("/batches"), sub=sub))
    return browser


def open_results(browser: Browser, batch: str, reason: str) -> dict[str, Any]:
    return browser.post("/batches", [("action", "open"), ("id", batch), ("reason", reason)])


def test_opened_results_are_closed_after_an_hour(
    ada: Browser, login: FullIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, driver = start(login, {**FIND, "params": {}}, user="uma")
    driver.finish("find", raw=[{"tag": CANARY, "count": 2}])
    monkeypatch.setattr(opening, "OPEN_SECONDS", 0)
    assert open_results(ada, head.batch, "why")["statusCode"] == 303
    assert CANARY not in ada.get(f"/batches?id={head.batch}&step=find")["body"]


def test_results_are_not_opened_where_no_row_can_say_so(
    ada: Browser, login: FullIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, _ = start(login, {**FIND, "params": {}}, user="uma")
    caller = permissions_of(login, "ada").caller
    assert ada
    with monkeypatch.context() as broken:
        broken.setenv("AUDIT_TABLE", "gone")
        settings.cache_clear()
        with pytest.raises(StoreUnavailable):
            opening.open_results(caller, head.batch, "why")
    settings.cache_clear()
    assert ledger.get_header(head.pk).openings == ()


def test_only_administrators_open_the_results_of_others(ada: Browser, login: FullIssuer) -> None:
    uma = another_browser(login, "uma")
    foreign, _ = start(login, {**FIND, "params": {}}, user="ada")
    own, _ = start(login, {**FIND, "params": {}}, user="uma")
    assert open_results(uma, foreign.batch, "why")["statusCode"] == 404
    assert open_results(uma, own.batch, "why")["statusCode"] == 403
    assert open_results(ada, foreign.batch, "why")["statusCode"] == 403, "nobody opens what is open"


def test_names_from_outside_are_text(uma: Browser, login: FullIssuer) -> None:
    evil = '"><script>alert(1)</script>'
    head, driver = start(login, {**FIND, "id": "a-b"}, {**READ, "after": ["a-b"]})
    driver.finish("a-b", raw=[{"tag": evil, "count": "\u202e1"}])
    for query in ("", "&step=a-b", "&step=" + "%22%3E%3Cscript%3E"):
        page = uma.get(f"/batches?id={head.batch}{query}")["body"]
        assert "<script>alert" not in page
        assert "\u202e" not in page
    assert "\\u{202E}" in uma.get(f"/batches?id={head.batch}&step=a-b")["body"]


def test_a_query_that_names_nothing_is_answered_with_a_page(uma: Browser) -> None:
    for query in ("id=b_x", "id=%3Cb%3E", "confirm=b_0123456789abcdef", "before=x"):
        assert uma.get(f"/batches?{query}")["statusCode"] in {400, 404}, query


def test_a_question_says_which_elements_a_step_destroys_now(destroyer: Browser, login: FullIssuer) -> None:
    for path in ("a.md", "b.md"):
        store(path)
    each = {**DROP, "each": "${docs.items}", "params": {"path": "${each.path}"}}
    question = ask(login, {"id": "docs", "module": "rag", "tool": "list_docs"}, each)
    page = unescape(destroyer.get(f"/batches?confirm={question}")["body"])
    assert "2 now" in page
    assert '{"path":"b.md"}' in page


@pytest.mark.parametrize("path", ["/", "/batches"])
def test_a_batch_that_waits_for_its_person_is_listed_until_it_is_decided(
    destroyer: Browser, login: FullIssuer, path: str
) -> None:
    agreed, declined = ask(login), ask(login)
    link = "/batches?confirm="
    page = destroyer.get(path)["body"]
    assert page.index(link + declined) != page.index(link + agreed)
    for question, answer in ((agreed, "yes"), (declined, "no")):
        destroyer.post("/batches", [("action", "confirm"), ("question", question), ("agreed", answer)])
    page = destroyer.get(path)["body"]
    assert link + agreed not in page
    assert link + declined not in page


def test_a_question_to_one_person_is_not_listed_for_another(destroyer: Browser, login: FullIssuer) -> None:
    question = ask(login)
    assert question in destroyer.get("/batches")["body"]
    other = Browser(login)
    assert other.log_in("ada", "/batches")["statusCode"] == 200
    assert question not in other.get("/")["body"]


@pytest.mark.usefixtures("destroyer")
def test_a_question_is_listed_no_longer_than_it_can_be_answered(login: FullIssuer) -> None:
    question, caller = ask(login), permissions_of(login).caller
    assert question in questions.find_waiting(caller)
    questions.close(caller, question)
    assert question not in questions.find_waiting(caller)
