"""A batch as a person watches it in a real browser: its picture changes by itself, and is whole without scripts."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from infra.local.demo import USER
from infra.local.deployment import LocalDeployment
from tests.whole.browser import complaints, new_page, signed_in
from tests.whole.gate import held, waiting_step

CHAIN = 12


@pytest.fixture(scope="module")
def page(chromium: Browser, deployment: LocalDeployment) -> Page:
    """A browser in which the user is signed in."""
    return signed_in(chromium, deployment, USER)


def start(deployment: LocalDeployment, *steps: dict[str, Any]) -> str:
    """Start a batch as a program of the user does."""
    headers = {"authorization": f"Bearer {deployment.token(USER)}"}
    answer = httpx2.post(f"{deployment.aws.api_url}/v1/batches", json={"commands": steps}, headers=headers, timeout=60)
    return str(answer.json()["id"])


def chain(gate: Path) -> list[dict[str, Any]]:
    """Steps one after the other, the first of which waits at a gate."""
    tags = {"module": "rag", "tool": "list_tags"}
    steps = [waiting_step("s0", gate), *({"id": f"s{number}", **tags} for number in range(1, CHAIN))]
    return [{**step, "after": [f"s{number - 1}"] if number else []} for number, step in enumerate(steps)]


def test_the_picture_of_a_running_batch_changes_by_itself_until_the_end(
    page: Page, deployment: LocalDeployment, tmp_path: Path
) -> None:
    heard = complaints(page.context)
    with held(tmp_path / "gate"):
        batch = start(deployment, *chain(tmp_path / "gate"))
        page.goto(f"{deployment.aws.api_url}/batches?id={batch}")
        expect(page.locator("body")).to_contain_text(f"of {CHAIN} steps")
        page.evaluate("window.isSamePage = true")
        assert page.locator("#live[hx-trigger]").count()
    expect(page.locator(".graph .step.succeeded")).to_have_count(CHAIN)
    expect(page.locator("h1 .badge")).to_have_text("done")
    assert page.evaluate("window.isSamePage"), "no page was loaded anew"
    assert page.locator("#live[hx-trigger]").count() == 0, "nothing is asked for any more"
    assert heard == [], "the content security policy stopped nothing"


def test_a_step_is_reached_by_the_keyboard_and_its_panel_has_the_result(
    page: Page, deployment: LocalDeployment
) -> None:
    batch = start(deployment, {"id": "s0", "module": "rag", "tool": "list_tags"})
    page.goto(f"{deployment.aws.api_url}/batches?id={batch}")
    page.locator(".graph .step.succeeded").wait_for()
    page.locator(".graph .step").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#panel h2")).to_have_text("s0")
    expect(page.locator("#panel")).to_contain_text("Result")


def test_tools_are_found_while_a_person_types(page: Page, deployment: LocalDeployment) -> None:
    page.goto(f"{deployment.aws.api_url}/tools")
    page.locator("#field-q").press_sequentially("search my documents")
    expect(page.locator("#found b").first).to_have_text("rag.search_docs")
    expect(page.locator("#field-q")).to_be_focused()


def test_without_scripts_a_batch_and_the_search_are_complete(
    chromium: Browser, page: Page, deployment: LocalDeployment, tmp_path: Path
) -> None:
    plain = new_page(chromium, storage_state=page.context.storage_state(), java_script_enabled=False)
    with held(tmp_path / "gate"):
        batch = start(deployment, *chain(tmp_path / "gate"))
        plain.goto(f"{deployment.aws.api_url}/batches?id={batch}")
        expect(plain.locator("body")).to_contain_text("Look again", use_inner_text=True)
    plain.goto(f"{deployment.aws.api_url}/tools?q=search+my+documents")
    expect(plain.locator("#found")).to_contain_text("rag.search_docs")
