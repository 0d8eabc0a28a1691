"""The main actions of the console by the keyboard alone: without scripts, and (slow) with them."""

from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from infra.local.demo import ADMINISTRATOR, ORGANIZATION, ROLE, USER
from infra.local.deployment import LocalDeployment, operating
from infra.local.login import Person
from mcpist.people import directory
from tests import members
from tests.whole.browser import new_page, signed_in
from tests.whole.gate import held, waiting_step

MAX_TABS = 150
MASK = "rag.delete_*"
SCRIPTS = [
    pytest.param(False, id="without scripts"),
    pytest.param(True, id="with scripts", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=SCRIPTS)
def pages(request: pytest.FixtureRequest, chromium: Browser, deployment: LocalDeployment) -> dict[Person, Page]:
    """A page of each person, who signed in by the keyboard."""
    made = {}
    for person in (ADMINISTRATOR, USER):
        page = made[person] = new_page(chromium, java_script_enabled=request.param)
        page.goto(f"{deployment.aws.api_url}/profile")
        press(page, f"button[value={person.sub}]")
        expect(page.locator("h1")).to_have_text("Profile")
    return made


@pytest.fixture
def user(pages: dict[Person, Page]) -> Page:
    return pages[USER]


def reach(page: Page, selector: str) -> None:
    """Go by the tabulator to what a selector finds."""
    page.locator(selector).first.wait_for()
    for _ in range(MAX_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} is not reached on {page.url}")


def press(page: Page, selector: str) -> None:
    reach(page, selector)
    page.keyboard.press("Enter")


def write(page: Page, selector: str, text: str) -> None:
    reach(page, selector)
    page.keyboard.type(text)


def test_a_tool_is_searched_opened_and_tried(deployment: LocalDeployment, user: Page) -> None:
    user.goto(f"{deployment.aws.api_url}/tools")
    write(user, "#field-q", "rag.list_tags")
    user.keyboard.press("Enter")
    expect(user.locator("#found")).to_contain_text("rag.list_tags")
    press(user, '#found a[href*="tool=rag.list_tags"]')
    press(user, "#try button")
    expect(user.locator("#try .beside")).to_contain_text("What a model reads")


def test_a_task_in_words_becomes_a_batch_that_runs(deployment: LocalDeployment, user: Page) -> None:
    user.goto(deployment.aws.api_url)
    write(user, ".ask input", "list my documents")
    user.keyboard.press("Enter")
    press(user, 'button[value="add:rag.list_docs"]')
    expect(user.locator("#panel-heading")).to_have_text("list_docs")
    write(user, "#field-q", " read one")
    user.keyboard.press("Enter")
    press(user, 'button[value="add:rag.get_doc"]')
    expect(user.locator("#panel-heading")).to_have_text("get_doc")
    write(user, "#try-path", "${list_docs.items[0].path}")
    press(user, '#panel button[value="check"]')
    expect(user.locator(".node.allowed")).to_have_count(2)
    press(user, 'button[value="run"]')
    expect(user.locator("h1")).to_contain_text("b_")
    expect(user.locator(".note.good")).to_be_visible()


def test_the_skip_link_leads_over_the_navigation(deployment: LocalDeployment, user: Page) -> None:
    user.goto(f"{deployment.aws.api_url}/tools")
    press(user, "a.skip")
    user.keyboard.press("Tab")
    assert user.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_a_key_is_pasted_into_the_form_of_an_account(deployment: LocalDeployment, user: Page) -> None:
    user.goto(f"{deployment.aws.api_url}/connect/supabase")
    write(user, "input[name=key]", "no such key")
    user.keyboard.press("Enter")
    expect(user.locator("body")).to_contain_text("does not accept this key")


def test_a_mask_is_changed_after_a_review(deployment: LocalDeployment, pages: dict[Person, Page]) -> None:
    page = pages[ADMINISTRATOR]
    with operating(deployment.aws):
        before = directory.read(ORGANIZATION).role(ROLE)
    page.goto(f"{deployment.aws.api_url}/roles?id={ROLE}")
    try:
        write(page, "textarea[name=deny]", MASK)
        press(page, "button.wide")
        expect(page.locator("h1")).to_have_text("Check this change")
        press(page, "button.wide")
        expect(page.locator(".note.good")).to_be_visible()
        with operating(deployment.aws):
            assert MASK in directory.read(ORGANIZATION).role(ROLE).deny
    finally:
        with operating(deployment.aws):
            members.put_role(ORGANIZATION, before)


def test_a_batch_is_cancelled(deployment: LocalDeployment, user: Page, tmp_path: Path) -> None:
    with held(tmp_path / "gate"):
        batch = start(deployment, tmp_path / "gate")
        user.goto(f"{deployment.aws.api_url}/batches?id={batch}")
        press(user, "form button.risky")
        expect(user.locator(".note.good")).to_be_visible()


def start(deployment: LocalDeployment, gate: Path) -> str:
    """Start a batch that waits at a gate, as a program of the user does."""
    after = {"id": "after", "module": "rag", "tool": "list_tags", "after": ["wait"]}
    headers = {"authorization": f"Bearer {deployment.token(USER)}"}
    commands = {"commands": [waiting_step("wait", gate), after]}
    answer = httpx2.post(f"{deployment.aws.api_url}/v1/batches", json=commands, headers=headers, timeout=60)
    return str(answer.json()["id"])


@pytest.mark.slow
def test_the_search_opens_above_a_page_and_its_results_are_reached_by_arrows(
    deployment: LocalDeployment, chromium: Browser
) -> None:
    page = signed_in(chromium, deployment, USER)
    page.goto(f"{deployment.aws.api_url}/files")
    page.keyboard.press("Control+k")
    page.keyboard.type("workbench")
    expect(page.locator("#palette-results a").first).to_have_attribute("href", "/workbench")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/workbench")
