"""A batch as a person watches it in a real browser: its picture changes by itself, and is whole without scripts."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from infra.local.deployment import USER, LocalDeployment
from tests.whole.chromium import Chromium, Page, running

CHAIN = 12


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with running(tmp_path_factory.mktemp("profile")) as chromium:
        yield chromium


@pytest.fixture(scope="module")
def page(chromium: Chromium, deployment: LocalDeployment) -> Page:
    """A browser in which the user is signed in."""
    page = chromium.profile()
    page.open(f"{deployment.aws.api_url}/batches")
    page.click(f"button[value={USER.sub}]")
    page.wait_until("location.pathname === '/batches'")
    return page


def start(deployment: LocalDeployment, *steps: dict[str, Any]) -> str:
    """Start a batch as a program of the user does."""
    headers = {"authorization": f"Bearer {deployment.token(USER)}"}
    answer = httpx2.post(f"{deployment.aws.api_url}/v1/batches", json={"commands": steps}, headers=headers, timeout=60)
    return str(answer.json()["id"])


def chain() -> list[dict[str, Any]]:
    steps = [{"id": f"s{number}", "module": "rag", "tool": "list_tags"} for number in range(CHAIN)]
    return [{**step, "after": [f"s{number - 1}"] if number else []} for number, step in enumerate(steps)]


def test_the_picture_of_a_running_batch_changes_by_itself_until_the_end(
    page: Page, chromium: Chromium, deployment: LocalDeployment
) -> None:
    batch = start(deployment, *chain())
    page.open(f"{deployment.aws.api_url}/batches?id={batch}")
    page.wait_for_text(f"of {CHAIN} steps")
    page.find("window.isSamePage = true")
    page.wait_until(f"document.querySelectorAll('.graph .step.succeeded').length === {CHAIN}")
    page.wait_until("document.querySelector('h1 .badge').innerText === 'done'")
    assert page.find("window.isSamePage"), "no page was loaded anew"
    assert page.find("document.querySelector('[hx-trigger]')") is None, "nothing is asked for any more"
    assert chromium.errors == [], "the content security policy stopped nothing"


def test_a_step_is_reached_by_the_keyboard_and_its_panel_has_the_result(
    page: Page, deployment: LocalDeployment
) -> None:
    batch = start(deployment, *chain()[:1])
    page.open(f"{deployment.aws.api_url}/batches?id={batch}")
    page.wait_until("document.querySelector('.graph .step.succeeded') !== null")
    page.find("document.querySelector('.graph .step').focus()")
    for kind in ("keyDown", "keyUp"):
        page.send("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
    page.wait_until("document.querySelector('#panel h2')?.innerText === 's0'")
    page.wait_for_text("Result")


def test_tools_are_found_while_a_person_types(page: Page, deployment: LocalDeployment) -> None:
    page.open(f"{deployment.aws.api_url}/tools")
    page.type("#field-q", "search my documents")
    page.wait_until("document.querySelector('#found b').textContent === 'rag.search_docs'")
    assert page.find("document.activeElement.id") == "field-q"


def test_without_scripts_a_batch_and_the_search_are_complete(page: Page, deployment: LocalDeployment) -> None:
    batch = start(deployment, *chain())
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(f"{deployment.aws.api_url}/batches?id={batch}")
        page.wait_for_text("Look again")
        page.open(f"{deployment.aws.api_url}/tools?q=search+my+documents")
        page.wait_for_text("rag.search_docs")
    finally:
        page.send("Emulation.setScriptExecutionDisabled", value=False)
