"""The console as people use it: a real browser, both languages, the keyboard, no scripts, a phone, and axe-core."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.local.deployment import ADMINISTRATOR, USER, LocalDeployment
from infra.local.login_page import Person
from tests.peers.npm import modules
from tests.whole.chromium import Chromium, Page, running
from tests.whole.console_pages import PAGES, ConsolePage

MAX_PAGE_BYTES = 50_000
CHECKS = Path(__file__).parents[1] / "console"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0']"
EVERY_PAGE = pytest.mark.parametrize("shown", PAGES, ids=lambda page: page.path)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with running(tmp_path_factory.mktemp("profile")) as chromium:
        yield chromium


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core."""
    return (modules(CHECKS) / "axe-core/axe.min.js").read_text("utf-8")


@pytest.fixture(scope="module")
def browsers(chromium: Chromium, deployment: LocalDeployment) -> dict[str, Page]:
    """A browser of each person, signed in."""
    return {person.sub: signed_in(chromium, deployment, person) for person in (ADMINISTRATOR, USER)}


def signed_in(chromium: Chromium, deployment: LocalDeployment, person: Person) -> Page:
    page = chromium.profile()
    page.send("Network.enable")
    page.open(f"{deployment.aws.api_url}/")
    page.click(f"button[value={person.sub}]")
    page.wait_for_text("Welcome")
    return page


def look(page: Page, *, width: int = 1280, language: str = "en", dark: bool = False) -> None:
    """Set the window, the language and the colours of a browser."""
    page.send("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500)
    page.send("Network.setExtraHTTPHeaders", headers={"accept-language": language})
    colours = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page.send("Emulation.setEmulatedMedia", features=[colours])


def open_page(page: Page, deployment: LocalDeployment, path: str, text: str) -> None:
    page.open(f"{deployment.aws.api_url}{path}")
    page.wait_until(f"location.pathname + location.search === {json.dumps(path)}")
    page.wait_for_text(text)


def violations(page: Page, axe: str) -> list[str]:
    """Return what axe-core finds wrong on a page."""
    page.find(f"{axe}; true")
    script = f"axe.run(document, {{runOnly: {json.dumps(RULES)}}}).then(found => found.violations)"
    answer = page.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
    assert "exceptionDetails" not in answer, answer
    found: list[dict[str, Any]] = answer["result"]["value"]
    return [f"{one['id']}: {node['html'][:160]} {node['failureSummary']}" for one in found for node in one["nodes"]]


LOOKS = [
    pytest.param(ADMINISTRATOR.sub, {}, id="administrator"),
    pytest.param(USER.sub, {"width": 320, "language": "ja", "dark": True}, id="phone, Japanese, dark"),
    pytest.param(USER.sub, {"dark": True}, id="user, dark", marks=pytest.mark.slow),
    pytest.param(
        ADMINISTRATOR.sub, {"width": 320, "language": "ja"}, id="administrator, phone", marks=pytest.mark.slow
    ),
]


@pytest.mark.parametrize(("who", "how"), LOOKS)
@EVERY_PAGE
def test_a_page_is_accessible_and_fits_the_window(
    deployment: LocalDeployment, browsers: dict[str, Page], axe: str, shown: ConsolePage, who: str, how: dict[str, Any]
) -> None:
    if shown.administrators and who == USER.sub:
        pytest.skip("it is for administrators")
    page = browsers[who]
    look(page, **how)
    open_page(page, deployment, shown.path, shown.japanese if how.get("language") == "ja" else shown.english)
    assert violations(page, axe) == []
    assert page.find("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert page.find("document.documentElement.lang") == how.get("language", "en")


@EVERY_PAGE
def test_a_page_weighs_little_and_complains_of_nothing(
    deployment: LocalDeployment, chromium: Chromium, shown: ConsolePage
) -> None:
    page = signed_in(chromium, deployment, ADMINISTRATOR)
    page.send("Network.setCacheDisabled", cacheDisabled=True)
    chromium.errors.clear()
    open_page(page, deployment, shown.path, shown.english)
    sizes = page.find(
        "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
        ".map(entry => entry.transferSize)"
    )
    assert len(sizes) >= 4, "the page, its style and its scripts"
    assert sum(sizes) < MAX_PAGE_BYTES, sizes
    assert chromium.errors == [], "no policy of ours stops anything of ours"


@EVERY_PAGE
def test_a_page_works_without_scripts(
    deployment: LocalDeployment, browsers: dict[str, Page], shown: ConsolePage
) -> None:
    page = browsers[ADMINISTRATOR.sub]
    look(page)
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        open_page(page, deployment, shown.path, shown.english)
        assert page.find("document.querySelectorAll('button.copy:not([hidden])').length") == 0
    finally:
        page.send("Emulation.setScriptExecutionDisabled", value=False)


@EVERY_PAGE
def test_the_keyboard_reaches_every_control_and_shows_where_it_is(
    deployment: LocalDeployment, browsers: dict[str, Page], shown: ConsolePage
) -> None:
    page = browsers[ADMINISTRATOR.sub]
    look(page)
    open_page(page, deployment, shown.path, shown.english)
    page.find(
        f"window.controls = [...document.querySelectorAll({json.dumps(CONTROLS)})]"
        ".filter(one => one.checkVisibility() && one.type !== 'hidden'); document.activeElement.blur()"
    )
    count, reached = page.find("controls.length"), set()
    for _ in range(count + 2):
        press_tab(page)
        state = page.find(
            "[controls.indexOf(document.activeElement), getComputedStyle(document.activeElement).outlineStyle]"
        )
        if state[0] >= 0:
            reached.add(state[0])
            assert state[1] != "none", page.find("document.activeElement.outerHTML")
    unreached = [number for number in range(count) if number not in reached]
    radio = "document.querySelectorAll('input[type=radio]').length"
    assert len(unreached) <= page.find(radio), page.find(f"{unreached}.map(one => controls[one].outerHTML)")


def press_tab(page: Page) -> None:
    for kind in ("keyDown", "keyUp"):
        page.send("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)


def test_a_person_signs_out_and_a_stolen_cookie_opens_nothing(
    deployment: LocalDeployment, chromium: Chromium, browsers: dict[str, Page]
) -> None:
    victim = signed_in(chromium, deployment, USER)
    cookies = victim.send("Network.getCookies")["cookies"]
    (session,) = [cookie for cookie in cookies if cookie["name"].endswith("session")]
    assert session["httpOnly"]
    assert session["sameSite"] == "Lax"
    open_page(victim, deployment, "/profile", "Sign out")
    victim.click("button[value=sign_out]")
    victim.wait_for_text("You are signed out")
    thief = chromium.profile()
    thief.send("Network.enable")
    kept = {name: session[name] for name in ("name", "value", "path", "httpOnly", "sameSite")}
    thief.send("Network.setCookie", url=deployment.aws.api_url, **kept)
    thief.open(f"{deployment.aws.api_url}/profile")
    thief.wait_for_text("Who are you?")
    look(browsers[USER.sub])
    open_page(browsers[USER.sub], deployment, "/profile", "Sign out")


def test_the_language_that_a_person_chooses_stays(deployment: LocalDeployment, chromium: Chromium) -> None:
    page = signed_in(chromium, deployment, USER)
    open_page(page, deployment, "/profile", "Language")
    page.find("document.querySelector('[name=language]').value = 'ja'")
    page.click("form:has([name=language]) button")
    page.wait_for_text("言語を変更しました")
    open_page(page, deployment, "/connect", "接続しているアカウント")


def test_htmx_is_the_file_of_its_package() -> None:
    package = modules(CHECKS) / "htmx.org"
    ours = CHECKS.parents[1] / "functions/console/assets"
    assert (ours / "htmx.js").read_bytes() == (package / "dist/htmx.min.js").read_bytes()
    assert (ours / "htmx.LICENSE").read_bytes() == (package / "LICENSE").read_bytes()
