"""At the doorstep: pages of other origins in a real browser, and a user who sends too much."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page

from infra.local.demo import ADMINISTRATOR, USER
from infra.local.deployment import DeploymentOptions, LocalDeployment, run_local_deployment
from infra.local.stack import MAX_SANDBOXES
from tests.traffic import traffic_of
from tests.whole.browser import new_page
from tests.whole.conftest import HERE, built

LIMIT = 10
CLIENTS = 3
VERSION = {"mcp-protocol-version": "2025-11-25"}
SENDS = {"content-type": "application/json", "accept": "application/json, text/event-stream", **VERSION}


class Pages(BaseHTTPRequestHandler):
    """An empty page, and an empty icon."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>A page</title>")

    def log_message(self, *_: Any) -> None:
        """Silent."""


@pytest.fixture(scope="session")
def pages() -> Iterator[list[str]]:
    """Two origins of pages: the first may use the endpoint."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Pages) for _ in range(2)]
    threads = [Thread(target=server.serve_forever, args=[0.01]) for server in servers]
    for thread in threads:
        thread.start()
    yield [f"http://127.0.0.1:{server.server_port}" for server in servers]
    for server, thread in zip(servers, threads, strict=True):
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def bounded(request: pytest.FixtureRequest) -> Iterator[LocalDeployment]:
    """A deployment with few requests a minute, for the pages of one other origin."""
    allowed = request.getfixturevalue("pages")[0]
    with run_local_deployment(
        DeploymentOptions(
            docs=HERE / "documents",
            modules=("rag",),
            parameters={"AllowedOrigins": allowed, "UserRequests": str(LIMIT)},
        )
    ) as deployment:
        yield deployment


pytestmark = [pytest.mark.slow, built(bounded)]


@pytest.fixture
def page(chromium: Browser) -> Page:
    return new_page(chromium)


def fetched(page: Page, url: str, **options: Any) -> dict[str, Any]:
    """Return the parts of an answer that the page's own script can read, or the error that it gets."""
    read: dict[str, Any] = page.evaluate(
        """([url, options]) => fetch(url, options).then(
            async answer => ({
                status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text()
            }),
            error => ({error: String(error)}),
        )""",
        [url, options],
    )
    return read


def posted(page: Page, deployment: LocalDeployment, method: str, *, token: str = "", **params: Any) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = SENDS | ({"authorization": f"Bearer {token}"} if token else {})
    return fetched(page, deployment.mcp_url, method="POST", headers=headers, body=json.dumps(message))


def test_an_allowed_page_finds_the_login_and_calls_a_tool(
    deployment: LocalDeployment, pages: list[str], page: Page
) -> None:
    page.goto(pages[0])
    first = posted(page, deployment, "initialize")
    assert first["status"] == 401
    metadata = first["headers"]["x-mcpist-www-authenticate"].partition('resource_metadata="')[2].rstrip('"')
    found = fetched(page, metadata, headers=VERSION)
    assert json.loads(found["text"])["authorization_servers"] == [deployment.aws.api_url]

    token = deployment.token(ADMINISTRATOR)
    client = {"name": "page", "version": "1"}
    hello = posted(
        page, deployment, "initialize", token=token, protocolVersion="2025-11-25", capabilities={}, clientInfo=client
    )
    assert json.loads(hello["text"])["result"]["serverInfo"]["name"] == "mcpist"
    called = posted(
        page, deployment, "tools/call", token=token, name="call", arguments={"module": "rag", "tool": "list_tags"}
    )
    assert "security" in json.loads(called["text"])["result"]["content"][0]["text"]


def test_a_page_of_another_origin_reads_nothing_and_sends_nothing_with_a_token(
    deployment: LocalDeployment, pages: list[str], page: Page
) -> None:
    page.goto(pages[1])
    before = len(traffic_of(deployment.aws).requests)
    token = deployment.token(ADMINISTRATOR)
    assert posted(page, deployment, "tools/list", token=token) == {"error": "TypeError: Failed to fetch"}
    assert traffic_of(deployment.aws).requests[before:] == []
    assert "error" in posted(page, deployment, "tools/list")
    assert "error" in fetched(page, f"{deployment.aws.api_url}/.well-known/oauth-protected-resource")


def test_the_pages_for_people_are_read_by_no_other_page(
    deployment: LocalDeployment, pages: list[str], page: Page
) -> None:
    for origin in pages:
        page.goto(origin)
        for options in ({}, {"credentials": "include"}, {"headers": VERSION}):
            for address in (deployment.connect_url, f"{deployment.aws.api_url}/signed-out"):
                assert "error" in fetched(page, address, **options)


def test_a_user_who_sends_too_much_at_once_is_served_the_limit_and_one_more_for_each_sandbox(
    deployment: LocalDeployment,
) -> None:
    headers = {**SENDS, "authorization": f"Bearer {deployment.token(USER)}"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    began = time.time()
    with httpx2.Client(headers=headers, timeout=60) as web, ThreadPoolExecutor(CLIENTS) as threads:
        answers = list(threads.map(lambda _: web.post(deployment.mcp_url, json=message), range(40)))
    minutes = int(time.time() // 60 - began // 60) + 1
    seen = Counter(answer.status_code for answer in answers)
    assert set(seen) == {200, 429}
    assert LIMIT <= seen[200] <= minutes * (LIMIT + MAX_SANDBOXES)
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["error"]["code"] == "RATE_LIMIT_EXCEEDED"
    assert 1 <= int(refused.headers["retry-after"]) <= 60
