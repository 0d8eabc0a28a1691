"""Ten tasks of people, walked in a browser from the first page on, with no more clicks than docs/console.md lists."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from infra.local.demo import ADMINISTRATOR, ORGANIZATION, ROLE, USER
from infra.local.deployment import LocalDeployment, operating
from infra.local.login import Person
from infra.source import ROOT
from mcpist.people import directory
from tests import members
from tests.accounts import forget
from tests.whole.browser import complaints, signed_in

pytestmark = pytest.mark.slow
ROW = re.compile(r"^\| ([a-z][^|]+) \| (\d+): ", re.MULTILINE)
LISTED = {task: int(clicks) for task, clicks in ROW.findall((ROOT / "docs/console.md").read_text("utf-8"))}


@dataclass
class Walk:
    """A person on the way through the pages: only links, buttons and fields are used, and no address is typed."""

    page: Page
    clicks: int = 0

    def click(self, found: str | Locator) -> None:
        (self.page.locator(found).first if isinstance(found, str) else found).click()
        self.clicks += 1

    def choose(self, found: str, value: str) -> None:
        self.page.select_option(found, value)
        self.clicks += 1

    def find(self, text: str, *tools: str) -> None:
        """Describe a task on the first page, and add tools that were found."""
        self.page.fill(".ask input", text)
        self.click(".ask button")
        for tool in tools:
            self.click(f'button[value="add:{tool}"]')
            expect(self.page.locator("#panel-heading")).to_have_text(tool.partition(".")[2])

    def run(self) -> None:
        self.click('button[value="run"]')
        expect(self.page.locator("h1")).to_contain_text("b_")
        expect(self.page.locator(".note.good")).to_be_visible()


def run_a_tool(walk: Walk) -> None:
    walk.find("list tags", "rag.list_tags")
    walk.run()


def run_two_steps(walk: Walk) -> None:
    walk.find("read a document from the list of documents", "rag.list_docs", "rag.get_doc")
    walk.page.fill("#try-path", "${list_docs.items[0].path}")
    walk.click('#panel button[value="check"]')
    expect(walk.page.locator(".node.allowed")).to_have_count(2)
    walk.run()


def connect_an_account(walk: Walk) -> None:
    walk.find("search github issues", "github.search_issues")
    with walk.page.context.expect_page() as opened:
        walk.click(".node a")
    expect(opened.value.locator("h1")).to_contain_text("GitHub")
    opened.value.close()


def copy_a_batch(walk: Walk) -> None:
    walk.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    walk.find("list tags", "rag.list_tags")
    walk.click(walk.page.locator("summary", has_text="Copy for a program"))
    walk.click("details[open] button.copy")
    assert "rag" in walk.page.evaluate("navigator.clipboard.readText()")


def run_again(walk: Walk) -> None:
    walk.click('.rows a[href^="/batches?id="]')
    walk.click(walk.page.get_by_role("link", name="Change and run again"))
    walk.click('button[value="open:get_doc"]')
    walk.page.fill("#try-path", "${list_docs.items[1].path}")
    walk.run()


def decide(walk: Walk) -> None:
    walk.click('.rows a[href^="/approvals?id="]')
    walk.click('button[value="agree"]')
    expect(walk.page.locator(".note.good")).to_be_visible()


def see_why(walk: Walk) -> None:
    walk.click('nav a[href="/logs"]')
    walk.click("a.why")
    expect(walk.page.locator("#why li.no").first).to_be_visible()


def invite(walk: Walk) -> None:
    walk.click('nav a[href="/users"]')
    walk.click(walk.page.get_by_role("link", name="Invite by link"))
    walk.page.fill("#field-name", "Eve")
    walk.page.fill("#field-id", "eve")
    walk.click('button[value="invite"]')
    expect(walk.page.locator("main pre")).to_contain_text("/join")


def take_users(walk: Walk) -> None:
    walk.click('nav a[href="/users"]')
    with walk.page.expect_download() as stored:
        walk.click("a[download]")
    assert "uma" in Path(stored.value.path()).read_text("utf-8")


def block_a_tool(walk: Walk) -> None:
    walk.click('nav a[href="/roles"]')
    walk.click(walk.page.get_by_role("link", name=ROLE, exact=True))
    walk.click('a[href*="module=rag"]')
    walk.choose('select[name="use.list_tags"]', "block")
    walk.click("#panel button.wide")
    expect(walk.page.locator("h1")).to_have_text("Check this change")
    walk.click("button.wide")
    expect(walk.page.locator(".note.good")).to_be_visible()


TASKS: dict[str, tuple[Person, Callable[[Walk], None]]] = {
    "run a tool as a step": (USER, run_a_tool),
    "run two steps, one from the other's result": (USER, run_two_steps),
    "connect the account that a step needs": (USER, connect_an_account),
    "copy a checked batch for a program": (USER, copy_a_batch),
    "run a batch again with another argument": (USER, run_again),
    "decide about what waits": (ADMINISTRATOR, decide),
    "see why somebody could not use a tool": (ADMINISTRATOR, see_why),
    "invite a colleague": (ADMINISTRATOR, invite),
    "take the users into a spreadsheet": (ADMINISTRATOR, take_users),
    "block a tool for a role": (ADMINISTRATOR, block_a_tool),
}


@pytest.fixture
def lived_in(deployment: LocalDeployment) -> Iterator[None]:
    """Let there be a refused use, and a request that waits."""
    call = {"name": "rag-delete-doc", "parameters": {"path": "old.md"}}
    with operating(deployment.aws):
        before = directory.read(ORGANIZATION)
    try:
        assert send(deployment, "tools/call", call).status_code == 403
        with operating(deployment.aws):
            asking = replace(before.roles[ROLE], allow=("rag.*",), destructive=True, approval=("rag.*",))
            members.put_role(ORGANIZATION, asking)
        forget(deployment)
        assert "approval_id" in send(deployment, "tools/call", call).text
        with operating(deployment.aws):
            members.put_role(ORGANIZATION, before.roles[ROLE])
        forget(deployment)
        yield
    finally:
        with operating(deployment.aws):
            members.put_role(ORGANIZATION, before.roles[ROLE])
        forget(deployment)


def send(deployment: LocalDeployment, path: str, body: object) -> httpx2.Response:
    headers = {"authorization": f"Bearer {deployment.token(USER)}"}
    return httpx2.post(f"{deployment.aws.api_url}/v1/{path}", json=body, headers=headers, timeout=60)


@pytest.mark.usefixtures("lived_in")
def test_ten_tasks_take_the_clicks_that_the_docs_list(
    chromium: Browser, deployment: LocalDeployment, tmp_path: Path
) -> None:
    assert TASKS.keys() == LISTED.keys()
    assert len(TASKS) == 10
    pages = {person: signed_in(chromium, deployment, person) for person in (ADMINISTRATOR, USER)}
    found = [problem for page in pages.values() for problem in complaints(page.context)]
    for number, (task, (person, walk_through)) in enumerate(TASKS.items()):
        walk = Walk(pages[person])
        walk.page.goto(deployment.aws.api_url)
        walk_through(walk)
        walk.page.screenshot(path=tmp_path / f"{number}.png", full_page=True)
        assert walk.clicks <= LISTED[task], task
    assert found == []
