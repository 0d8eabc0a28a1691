"""Connecting an account as a person does: a real browser, the login, the pages, and a real authorization server."""

import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from infra.local.demo import ADMINISTRATOR, ORGANIZATION, USER
from infra.local.deployment import LocalDeployment
from infra.local.login import Person
from rehearsal.person import agree
from tests.token_broker.authorization_server import AuthorizationServer
from tests.whole.browser import complaints, new_page
from tests.whole.conftest import McpUser

SERVICE = "tracker"
LINK = f"{SERVICE}?organization={ORGANIZATION}&user={USER.sub}"


@pytest.fixture
def server(deployment: LocalDeployment, authorization_server: AuthorizationServer) -> AuthorizationServer:
    """The authorization server, which the broker knows as the provider of `tracker`; no account of it is connected."""
    authorization_server.reset()
    client = authorization_server.register(f"{deployment.connect_url}/callback/{SERVICE}")
    folder = next(one for one in deployment.aws.template.functions if one.id == "TokenBrokerFunction").environment
    deployment.aws.client("ssm").put_parameter(
        Name=f"{folder['OAUTH_PARAMETERS']}/{SERVICE}",
        Value=authorization_server.parameter(client),
        Type="SecureString",
        Overwrite=True,
    )
    for owner in (f"user#{USER.sub}", "role#members"):
        key = {"pk": {"S": f"{ORGANIZATION}#{SERVICE}"}, "sk": {"S": owner}}
        deployment.aws.client("dynamodb").delete_item(TableName=deployment.aws.resource("Grants"), Key=key)
    for pool in deployment.aws.functions.values():
        pool.stop_idle()
    return authorization_server


@pytest.fixture
def page(chromium: Browser) -> Page:
    """A page in a browser that nobody has logged in with."""
    return new_page(chromium)


def log_in(page: Page, person: Person = USER) -> None:
    page.click(f"button[value={person.sub}]")


def allow(page: Page, account: str) -> None:
    """Answer the authorization server's page, as somebody with an account there."""
    expect(page.locator("body")).to_contain_text("Allow access?")
    page.fill("[name=account]", account)
    page.click("button[value=allow]")


def resolve(visitor: McpUser) -> dict[str, Any]:
    """Return the credential that the broker gives for this person's calls."""
    message = {
        "operation": "resolve",
        "proof": {"kind": "jwt", "value": visitor.token},
        "organization": ORGANIZATION,
        "roles": ["members"],
        "service": SERVICE,
    }
    broker = visitor.deployment.aws.resource("TokenBrokerFunction.Alias")
    answer = visitor.deployment.aws.client("lambda").invoke(FunctionName=broker, Payload=json.dumps(message))
    payload: dict[str, Any] = json.load(answer["Payload"])
    return payload


def test_a_person_connects_changes_and_ends_an_account(
    deployment: LocalDeployment,
    server: AuthorizationServer,
    chromium: Browser,
    page: Page,
    user: McpUser,
) -> None:
    heard = complaints(page.context)
    page.goto(f"{deployment.connect_url}/{LINK}")
    log_in(page)
    expect(page.locator("body")).to_contain_text(f"Connect {SERVICE}")
    page.click("form.who button")
    allow(page, "uma")
    expect(page.locator("body")).to_contain_text("You can close this page")
    assert page.url == f"{deployment.connect_url}/{SERVICE}?done=connected"
    assert "Connected as Uma" in page.inner_text("body")
    first = resolve(user)["result"]
    assert first["account_name"] == "Uma"
    assert server.accepts(first["token"])

    another = new_page(chromium)  # in which the authorization server remembers nobody
    another.goto(f"{deployment.connect_url}/{LINK}")
    log_in(another)
    another.click("summary")
    another.click("form.who button")
    allow(another, "otto")
    expect(another.locator("body")).to_contain_text("Is this the account?")
    assert resolve(user)["result"]["token"] == first["token"]
    another.click("button[value=yes]")
    expect(another.locator("body")).to_contain_text("Connected as Otto")
    assert not server.accepts(first["token"])

    another.click("button.risky")
    expect(another.locator("body")).to_contain_text("It is no longer used after one minute at the latest.")
    another.goto(deployment.connect_url)
    expect(another.locator("body")).to_contain_text("Your accounts")
    for pool in deployment.aws.functions.values():
        pool.stop_idle()
    assert resolve(user)["error"]["type"] == "ConnectionRequired"
    assert [line for line in heard if not line.endswith("/favicon.ico")] == []


@pytest.mark.usefixtures("server")
def test_who_does_not_allow_it_comes_back_to_a_page_that_says_so(deployment: LocalDeployment, page: Page) -> None:
    page.goto(f"{deployment.connect_url}/{LINK}")
    log_in(page)
    page.click("form.who button")
    page.click("button[value=deny]")
    expect(page.locator("body")).to_contain_text("Nothing was connected")
    assert page.url == f"{deployment.connect_url}/{SERVICE}?done=declined"


@pytest.mark.usefixtures("server")
def test_the_link_of_somebody_else_offers_nothing(deployment: LocalDeployment, page: Page) -> None:
    page.goto(f"{deployment.connect_url}/{LINK}")
    log_in(page, ADMINISTRATOR)
    expect(page.locator("body")).to_contain_text("This link is for another person")
    assert page.locator("form").count() == 0
    page.click("a[href*=again]")
    log_in(page)
    expect(page.locator("body")).to_contain_text(f"Connect {SERVICE}")


@pytest.mark.usefixtures("server")
def test_an_administrator_connects_a_persons_account_for_a_role(
    deployment: LocalDeployment, page: Page, user: McpUser
) -> None:
    page.goto(f"{deployment.connect_url}/{SERVICE}")
    log_in(page, ADMINISTRATOR)
    page.click("input[value=role]")
    page.click("form.who button.wide")
    allow(page, "team")
    expect(page.locator("body")).to_contain_text("would act as this person")
    page.click("button[value=yes]")
    page.wait_for_url("**done=connected")
    expect(page.locator("body")).to_contain_text("Account of the role members")
    answer = resolve(user)
    assert answer.get("result", {}).get("account_name") == "Team", answer
    page.click("button.risky")
    expect(page.locator("body")).to_contain_text("Disconnected.")


@pytest.mark.slow
def test_of_twenty_ways_back_at_the_same_time_one_connects(
    deployment: LocalDeployment, server: AuthorizationServer
) -> None:
    failed = failures(deployment)
    with httpx2.Client(timeout=60) as web:
        back = way_back(deployment, server, web)
        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda _: web.get(back), range(20)))
        assert Counter(answer.status_code for answer in answers) == {303: 1, 400: 19}
        (connected,) = [answer for answer in answers if answer.status_code == 303]
        assert connected.headers["location"] == f"{deployment.connect_url}/{SERVICE}?done=connected"
        stands = web.get(connected.headers["location"])
        assert "Connected as Uma" in stands.text
    assert failures(deployment) == failed, "a way back that came too late asked the provider"


def failures(deployment: LocalDeployment) -> int:
    """The number of audit rows about connections that failed after their state was claimed."""
    headers = {"authorization": f"Bearer {deployment.token(ADMINISTRATOR)}"}
    query = {"event": "failure", "service": SERVICE}
    return len(httpx2.get(f"{deployment.aws.api_url}/v1/audit", params=query, headers=headers).json()["rows"])


def way_back(deployment: LocalDeployment, server: AuthorizationServer, web: httpx2.Client) -> str:
    """The callback's address, of a browser that logged in and consented."""
    landed = agree(web, web.get(f"{deployment.connect_url}/{LINK}").headers["location"], USER.sub)
    assert web.get(landed).status_code == 303
    page = web.get(f"{deployment.connect_url}/{LINK}").text
    token = page.partition('name="csrf" value="')[2].partition('"')[0]
    form = {"csrf": token, "action": "begin", "services": SERVICE}
    leaving = web.post(
        f"{deployment.connect_url}/{SERVICE}", data=form, headers={"origin": deployment.aws.api_url}
    ).text
    found = re.search(r'content="0;url=(.*?)"', leaving)
    assert found, leaving
    return server.consent(found[1].replace("&amp;", "&"))
