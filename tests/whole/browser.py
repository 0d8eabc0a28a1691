"""A headless Chromium of this machine, driven by Playwright, and what its pages complain of.

While it runs, `asyncio.run` cannot be called in the same thread: Playwright's own loop runs there.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect, sync_playwright

from infra.local.deployment import LocalDeployment
from infra.local.login import Person

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_MILLISECONDS = 60_000
# No name but loopback's resolves.
OPTIONS = ("--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")

expect.set_options(timeout=TIMEOUT_MILLISECONDS)


@contextmanager
def running() -> Iterator[Browser]:
    """The browser while the context lasts; skips the test where there is none."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(PROGRAMS)} is on PATH: install Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


def new_page(browser: Browser, **options: Any) -> Page:
    """Return a page in a profile of its own, with no cookies yet unless `storage_state` has some."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    context.set_default_timeout(TIMEOUT_MILLISECONDS)
    return context.new_page()


def complaints(context: BrowserContext) -> list[str]:
    """Return a list that fills with errors, refusals of a policy and dialogs of all pages from now on."""
    found: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        found.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    context.on("dialog", dismiss)
    context.on("weberror", lambda error: found.append(str(error.error)))
    context.on(
        "console",
        lambda entry: found.append(f"{entry.text} {entry.location['url']}") if entry.type == "error" else None,
    )
    return found


def signed_in(browser: Browser, deployment: LocalDeployment, person: Person, **options: Any) -> Page:
    """Return a page in a new profile in which a person is signed in."""
    page = new_page(browser, **options)
    page.goto(f"{deployment.aws.api_url}/profile")
    page.click(f"button[value={person.sub}]")
    page.wait_for_url("**/profile")
    return page
