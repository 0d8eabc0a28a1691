"""The console as people use it: a real browser, both languages, no scripts, a phone, and axe-core."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from infra.local.demo import ADMINISTRATOR, ORGANIZATION, ROLE, USER
from infra.local.deployment import LocalDeployment, operating
from infra.local.login import Person
from mcpist.people import directory
from tests import members
from tests.accounts import forget
from tests.peers.npm import modules
from tests.whole.browser import complaints, new_page, signed_in
from tests.whole.console_pages import PAGES, ConsolePage

MAX_PAGE_BYTES = 50_000
CHECKS = Path(__file__).parents[1] / "console"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0']"
CURRENT_IS_IN_SIGHT = """(() => {
  const box = document.querySelector(".bar [aria-current]")?.getBoundingClientRect();
  return !box || (box.left >= 0 && box.right <= innerWidth);
})()"""
SIZES = (
    "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
    ".map(entry => entry.transferSize)"
)


@dataclass(frozen=True, slots=True)
class Look:
    """How a page is seen, and by whom."""

    person: Person
    language: str
    width: int
    colours: Literal["light", "dark"]


# Each pair of person, language, width and colours, since a fault depends on two of them at most; all 24 take four times
# as long. A page is loaded once for all looks of a reader, the narrowest first.
LOOKS = (
    (Look(ADMINISTRATOR, "en", 320, "light"), Look(ADMINISTRATOR, "en", 1280, "dark")),
    (Look(ADMINISTRATOR, "ja", 768, "dark"),),
    (Look(USER, "ja", 320, "dark"), Look(USER, "ja", 1280, "light")),
    (Look(USER, "en", 768, "light"),),
)
EVERY_PAGE = pytest.mark.parametrize("shown", PAGES, ids=lambda page: page.path, indirect=True)
# What refuses a user is one page, wherever it stands.
REFUSED = next(page for page in PAGES if page.administrators)
LOOKED_AT = [
    pytest.param(page, looks, id=f"{page.path}-{looks[0].person.sub}-{looks[0].language}")
    for page in PAGES
    for looks in LOOKS
    if looks[0].person == ADMINISTRATOR or not page.administrators or page == REFUSED
]

# What passes is not described, and no style is loaded again for rules that are not asked for.
AXE = f"axe.run(document, {{runOnly: {RULES}, resultTypes: ['violations'], preload: false}})"

type Profiles = dict[Person, Any]


@pytest.fixture(scope="module")
def batch(deployment: LocalDeployment) -> str:
    """A batch of the user, of one step."""
    headers = {"authorization": f"Bearer {deployment.token(USER)}"}
    step = {"id": "look", "module": "rag", "tool": "list_tags", "output": True}
    answer = httpx2.post(f"{deployment.aws.api_url}/v1/batches", json={"commands": [step]}, headers=headers, timeout=60)
    return str(answer.json()["id"])


@pytest.fixture(scope="module")
def approval(deployment: LocalDeployment) -> str:
    """A request of the user that waits for an approval."""
    with operating(deployment.aws):
        before = directory.read(ORGANIZATION).roles[ROLE]
        members.put_role(ORGANIZATION, replace(before, allow=("rag.*",), destructive=True, approval=("rag.*",)))
    forget(deployment)
    headers = {"authorization": f"Bearer {deployment.token(USER)}"}
    call = {"name": "rag-delete-doc", "parameters": {"path": "old.md"}}
    answer = httpx2.post(f"{deployment.aws.api_url}/v1/tools/call", json=call, headers=headers, timeout=60)
    with operating(deployment.aws):
        members.put_role(ORGANIZATION, before)
    forget(deployment)
    return str(answer.json()["details"]["approval_id"])


@pytest.fixture
def shown(request: pytest.FixtureRequest, batch: str, approval: str) -> ConsolePage:
    """A page of the list."""
    page: ConsolePage = request.param
    return replace(page, path=page.path.format(batch=batch, approval=approval))


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core."""
    return (modules(CHECKS) / "axe-core/axe.min.js").read_text("utf-8")


@pytest.fixture(scope="module")
def profiles(chromium: Browser, deployment: LocalDeployment) -> Profiles:
    """The cookies of each person's browser, signed in."""
    made = {}
    for person in (ADMINISTRATOR, USER):
        page = signed_in(chromium, deployment, person)
        made[person] = page.context.storage_state()
        page.context.close()
    return made


@pytest.fixture(scope="module")
def pages(chromium: Browser, profiles: Profiles, axe: str) -> dict[Person, Page]:
    """A page of each person, with axe-core."""
    made = {person: new_page(chromium, storage_state=state) for person, state in profiles.items()}
    for page in made.values():
        page.context.add_init_script(axe)
    return made


@pytest.fixture(scope="module")
def still_page(chromium: Browser, profiles: Profiles) -> Page:
    """A page of an administrator's browser that runs no scripts."""
    return new_page(chromium, storage_state=profiles[ADMINISTRATOR], java_script_enabled=False)


@pytest.fixture(scope="module")
def heavy_page(chromium: Browser, profiles: Profiles) -> Page:
    """A page of an administrator's browser that loads everything anew: a profile for each page takes thrice the CPU."""
    page = new_page(chromium, storage_state=profiles[ADMINISTRATOR])
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")  # without which the next has no effect
    network.send("Network.setCacheDisabled", {"cacheDisabled": True})
    return page


@pytest.fixture(scope="module")
def heard(heavy_page: Page) -> list[str]:
    """What that page complains of."""
    return complaints(heavy_page.context)


def look(page: Page, *, width: int = 1280, language: str = "en", colours: Literal["light", "dark"] = "light") -> None:
    """Set the window, the language and the colours of a page."""
    page.set_viewport_size({"width": width, "height": 800})
    page.set_extra_http_headers({"accept-language": language})
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")  # else another colour comes by and by


def open_page(page: Page, deployment: LocalDeployment, path: str, text: str) -> None:
    page.goto(f"{deployment.aws.api_url}{path}")
    assert page.evaluate("location.pathname + location.search") == path
    expect(page.locator("body")).to_contain_text(text, use_inner_text=True)


def check_accessible(page: Page, language: str) -> None:
    """Fail for what axe-core finds on a page, and for one that is wider than its window."""
    found = page.evaluate(f"{AXE}.then(found => found.violations)")
    assert [
        f"{one['id']}: {node['html'][:160]} {node['failureSummary']}" for one in found for node in one["nodes"]
    ] == []
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert page.evaluate("document.documentElement.lang") == language


def check_page(page: Page, language: str) -> None:
    """Fail for what axe-core finds on a page of the console, and for one that hides where one is."""
    check_accessible(page, language)
    menu = page.locator("button.menu")
    if menu.is_visible():  # a narrow window has the navigation behind it
        menu.click()
        expect(page.get_by_role("navigation").get_by_role("link").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert page.evaluate(CURRENT_IS_IN_SIGHT), "the navigation shows where one is"
    page.keyboard.press("Escape")


@EVERY_PAGE
def test_a_page_weighs_little_and_complains_of_nothing(
    deployment: LocalDeployment, heavy_page: Page, heard: list[str], shown: ConsolePage
) -> None:
    page = heavy_page
    heard.clear()
    look(page, width=320, language="ja", colours="dark")
    open_page(page, deployment, shown.path, shown.japanese)
    sizes = page.evaluate(SIZES)
    assert len(sizes) >= 4, "the page, its style and its scripts"
    assert 0 not in sizes, "nothing comes from the cache"
    assert sum(sizes) < MAX_PAGE_BYTES, sizes
    assert heard == [], "no policy of ours stops anything of ours"


@pytest.mark.parametrize(("shown", "looks"), LOOKED_AT, indirect=["shown"])
def test_a_page_is_accessible_in_every_look(
    deployment: LocalDeployment, pages: dict[Person, Page], shown: ConsolePage, looks: tuple[Look, ...]
) -> None:
    person, language = looks[0].person, looks[0].language
    page = pages[person]
    refused = shown.administrators and person == USER
    text = shown.japanese if language == "ja" else shown.english
    for seen in looks:
        look(page, width=seen.width, language=language, colours=seen.colours)
        if seen == looks[0]:
            open_page(page, deployment, shown.path, "AUTHORIZATION_ERROR" if refused else text)
        check_page(page, language)


@EVERY_PAGE
def test_a_page_works_without_scripts(deployment: LocalDeployment, still_page: Page, shown: ConsolePage) -> None:
    open_page(still_page, deployment, shown.path, shown.english)
    assert still_page.locator("button.copy:not([hidden])").count() == 0


@EVERY_PAGE
def test_the_keyboard_reaches_every_control_and_shows_where_it_is(
    deployment: LocalDeployment, pages: dict[Person, Page], shown: ConsolePage
) -> None:
    page = pages[ADMINISTRATOR]
    look(page)
    open_page(page, deployment, shown.path, shown.english)
    page.wait_for_load_state("networkidle")  # the first page loads its last part later
    page.evaluate(
        f"""window.controls = [...document.querySelectorAll("{CONTROLS}")]
        .filter(one => one.checkVisibility() && one.type !== 'hidden'); document.activeElement.blur();
        window.outlines = new Map();
        document.addEventListener("focusin", ({{target}}) =>
          outlines.set(controls.indexOf(target), getComputedStyle(target).outlineStyle))"""
    )
    count = page.evaluate("controls.length")
    for _ in range(count + 2):
        page.keyboard.press("Tab")
    reached = dict(page.evaluate("[...outlines]"))
    unseen = [number for number, outline in reached.items() if number >= 0 and outline == "none"]
    assert not unseen, page.evaluate(f"{unseen}.map(one => controls[one].outerHTML)")
    unreached = [number for number in range(count) if number not in reached]
    radio = page.locator("input[type=radio]").count()
    assert len(unreached) <= radio, page.evaluate(f"{unreached}.map(one => controls[one].outerHTML)")


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_a_refused_form_and_a_review_are_accessible_on_a_phone(
    deployment: LocalDeployment, pages: dict[Person, Page], colours: Literal["light", "dark"]
) -> None:
    page = pages[ADMINISTRATOR]
    look(page, width=320, colours=colours)
    page.goto(f"{deployment.aws.api_url}/users?new=1")
    for field, text in {"id": "a#b", "name": "Ben", "sub": "ben"}.items():
        page.fill(f"#field-{field}", text)
    page.click(".panel form button.wide")
    expect(page.locator("#field-id[aria-invalid=true]")).to_have_value("a#b")
    check_page(page, "en")
    page.goto(f"{deployment.aws.api_url}/roles?id=members")
    page.locator(".panel input[name=modules]:checked").first.uncheck()
    page.click(".panel form button.wide")
    expect(page.locator("del").first).to_be_visible()
    check_page(page, "en")


def test_a_person_signs_out_and_a_stolen_cookie_opens_nothing(deployment: LocalDeployment, chromium: Browser) -> None:
    victim = signed_in(chromium, deployment, USER)
    stolen: Any = victim.context.storage_state()
    (session,) = [cookie for cookie in stolen["cookies"] if cookie["name"].endswith("session")]
    assert session["httpOnly"]
    assert session["sameSite"] == "Lax"
    other = signed_in(chromium, deployment, USER)
    victim.click("button[value=sign_out]")
    expect(victim.locator("body")).to_contain_text("You are signed out")
    thief = new_page(chromium, storage_state=stolen)
    thief.goto(f"{deployment.aws.api_url}/profile")
    expect(thief.locator("body")).to_contain_text("Who are you?")
    open_page(other, deployment, "/profile", "Sign out")


def test_the_language_that_a_person_chooses_stays(deployment: LocalDeployment, chromium: Browser) -> None:
    page = signed_in(chromium, deployment, USER)
    choose_language(page, "ja", "言語を変更しました")
    open_page(page, deployment, "/connect", "接続しているアカウント")
    # It is stored with the person, whom other tests share.
    open_page(page, deployment, "/profile", "サインアウト")
    choose_language(page, "en", "The language was changed")


def choose_language(page: Page, language: str, said: str) -> None:
    page.select_option("[name=language]", language)
    page.click("form:has([name=language]) button")
    expect(page.locator("body")).to_contain_text(said)


def test_htmx_is_the_file_of_its_package() -> None:
    package = modules(CHECKS) / "htmx.org"
    ours = CHECKS.parents[1] / "functions/console/assets"
    assert (ours / "htmx.js").read_bytes() == (package / "dist/htmx.min.js").read_bytes()
    assert (ours / "htmx.LICENSE").read_bytes() == (package / "LICENSE").read_bytes()


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("redirect", ["https://client.example/callback", "http://127.0.0.1:4711/callback"])
def test_the_question_of_the_login_is_accessible(
    deployment: LocalDeployment, chromium: Browser, axe: str, language: str, redirect: str
) -> None:
    url = deployment.aws.api_url
    described = {"client_name": "Editor", "redirect_uris": [redirect], "token_endpoint_auth_method": "none"}
    client = httpx2.post(f"{url}/login/register", json=described).json()["client_id"]
    asked = {"response_type": "code", "client_id": client, "redirect_uri": redirect, "resource": f"{url}/mcp"}
    asked |= {"code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256"}
    # No scripts of ours are needed; axe-core is one, which the page's policy keeps out.
    page = new_page(chromium, bypass_csp=True)
    page.context.add_init_script(axe)
    look(page, width=320, language=language, colours="dark")
    page.goto(f"{url}/login/authorize?{urlencode(asked)}")
    page.click(f"button[value={USER.sub}]")
    page.wait_for_selector("form[action='/login/consent']")
    check_accessible(page, language)
    look(page, language=language, colours="light")
    check_accessible(page, language)
    page.context.close()


def test_a_login_that_cannot_begin_says_so_accessibly(deployment: LocalDeployment, chromium: Browser, axe: str) -> None:
    page = new_page(chromium, bypass_csp=True)
    page.context.add_init_script(axe)
    look(page, width=320, language="ja", colours="dark")
    page.goto(f"{deployment.aws.api_url}/login/authorize?client_id=nobody&response_type=code")
    check_accessible(page, "ja")
    page.context.close()
