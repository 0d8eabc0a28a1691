"""A person approves in the console, in Chromium without scripts, what another person's program waits for."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from infra.local.demo import ADMINISTRATOR, ORGANIZATION, ROLE, USER
from infra.local.deployment import LocalDeployment, operating
from mcpist.caller import Role
from mcpist.people import directory
from tests import members
from tests.accounts import forget
from tests.whole.browser import signed_in
from tests.whole.conftest import MODULES

PATH = "approved.md"


@pytest.fixture(autouse=True)
def guarded(deployment: LocalDeployment) -> Iterator[None]:
    """The role of the user demands another person's approval."""
    with operating(deployment.aws):
        before = directory.read(ORGANIZATION).roles[ROLE]
        allow = (*before.allow, "rag.*")
        members.put_role(
            ORGANIZATION, Role(ROLE, modules=MODULES, allow=allow, destructive=True, second_person=("rag.*",))
        )
    forget(deployment)
    yield
    with operating(deployment.aws):
        members.put_role(ORGANIZATION, before)
    forget(deployment)


def call(deployment: LocalDeployment, tool: str, **parameters: Any) -> Any:
    """Call a tool as the user's program, which cannot confirm what waits."""
    headers = {"authorization": f"Bearer {deployment.token(USER)}"}
    body = {"name": f"rag-{tool}", "parameters": parameters}
    return httpx2.post(f"{deployment.aws.api_url}/v1/tools/call", json=body, headers=headers, timeout=60).json()


def test_what_a_second_person_approves_runs_once(deployment: LocalDeployment, chromium: Browser) -> None:
    assert call(deployment, "put-doc", path=PATH, content="# Approved")["success"]
    assert call(deployment, "delete-doc", path=PATH)["code"] == "APPROVAL_REQUIRED"
    page = signed_in(chromium, deployment, ADMINISTRATOR)
    plain = chromium.new_context(java_script_enabled=False, storage_state=page.context.storage_state()).new_page()
    plain.goto(deployment.aws.api_url)
    plain.get_by_role("navigation").get_by_role("link", name="Approvals").click()
    plain.get_by_role("main").get_by_role("link", name="rag.delete_doc").click()
    expect(plain.get_by_role("main")).to_contain_text(PATH)
    plain.get_by_role("button", name="Approve").click()
    expect(plain.get_by_role("status")).to_contain_text("You approved it")
    assert call(deployment, "delete-doc", path=PATH)["success"]
    assert call(deployment, "get-doc", path=PATH)["code"] == "FILE_NOT_FOUND"
    assert call(deployment, "delete-doc", path=PATH)["code"] == "APPROVAL_REQUIRED"
