"""The first administrator in a real browser: from an output's URL through the login to the list of what is to do."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Error, Page, sync_playwright

from rehearsal.report import RehearsalFailed, act, expect

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_MILLISECONDS = 120_000
MAX_TRIES = 3  # on a busy machine a first start of the functions takes longer than the engine lets a request wait
# No name but loopback's resolves.
OPTIONS = ("--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")


@dataclass(frozen=True)
class Checklist:
    """What the first page says is to do, by the path that leads there."""

    done: frozenset[str]
    open: frozenset[str]


def first_administrator(url: str, subject: str, name: str) -> Checklist:
    """Log a person in at the page of the output ConsoleUrl; they must administer the organization that this makes."""
    with act("a browser opens ConsoleUrl, the stack logs its named administrator in, and the console says what to do"):
        with _signed_in(url, subject) as page:
            expect(page.url == url, f"the login leads to {page.url}")
            heading = page.inner_text("h1")
            expect(name in heading, f"the first page greets with {heading!r}")
            found = _checklist(page)
            expect({"/users?invite=1", "/roles?new=1"} <= found.open, found)  # only administrators have them
            page.goto(f"{url}users?id={name}")
            right = page.input_value("[name=system_role]")
            expect(right == "admin", f"{name} is {right!r}")
        return found


def checklist(url: str, subject: str) -> Checklist:
    """Return what the console says to a person in a browser that has not logged in before."""
    with _signed_in(url, subject) as page:
        return _checklist(page)


def _checklist(page: Page) -> Checklist:
    """Read the list of the first page; RehearsalFailed if there is none."""
    rows = page.locator("details.first li").all()
    expect(rows, f"{page.url} has no list of what is to do: {page.inner_text('body')[:500]}")
    states = {str(row.locator("a").get_attribute("href")): bool(row.locator(".badge").count()) for row in rows}
    done = frozenset(path for path, is_done in states.items() if is_done)
    return Checklist(done, frozenset(states) - done)


@contextmanager
def _signed_in(url: str, subject: str) -> Iterator[Page]:
    """Open a page in Chromium with an empty profile, and choose the person at the issuer to which it leads."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise RehearsalFailed(f"none of {', '.join(PROGRAMS)} is on PATH: install Chromium")
    try:
        with (
            sync_playwright() as playwright,
            playwright.chromium.launch(executable_path=program, args=OPTIONS) as chromium,
        ):
            page = chromium.new_page()
            page.set_default_timeout(TIMEOUT_MILLISECONDS)
            choice = page.locator(f"button[name=sub][value={subject}]")
            tries = range(MAX_TRIES)
            while not choice.count():
                expect(tries, f"{page.url} is not the issuer's page: {page.inner_text('body')[:500]}")
                tries = tries[1:]
                page.goto(url, wait_until="domcontentloaded")
            choice.click()
            page.wait_for_url(url, wait_until="domcontentloaded")
            yield page
    except Error as error:
        raise RehearsalFailed(f"in the browser: {error.message}") from error
