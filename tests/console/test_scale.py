"""A large organization costs each page no more requests to AWS than a small one, and no page grows with it."""

import gzip
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.large import Size, grow
from console import rendering
from mcpist.audit.record import SHARDS
from mcpist.audit.search import MAX_PAGE_REQUESTS
from mcpist.caller import Subject
from tests.console.conftest import Browser
from tests.full_issuer import FullIssuer

MAX_PAGE_BYTES = 50_000
SMALL = Size(users=10, roles=5, apis=1, tools_per_api=10, rows=50)
SIZES = [
    Size(users=60, roles=60, apis=1, tools_per_api=10, rows=600),
    pytest.param(Size(users=150, roles=80, apis=3, tools_per_api=60, rows=1_500), marks=pytest.mark.slow),
]
PAGES = (
    "/",
    "/profile",
    "/search?q=uma",
    "/search?q=list+things",
    "/workbench?q=list+things",
    "/workbench?add=api0.list_things0",
    "/tools",
    "/tools?q=list+things",
    "/tools?module=api0",
    "/tools?tool=api0.list_things0&why=1",
    "/batches",
    "/files",
    "/connect",
    "/logs",
    "/logs?days=90",
    "/logs?user=uma&outcome=failed",
    "/logs?text=nothing+has+it",
    "/users",
    "/users?q=user0",
    "/users?id=user0001",
    "/users?new=1",
    "/users?id=nobody",
    "/roles",
    "/roles?q=role00",
    "/roles?id=members",
    "/roles?id=members&module=api0",
    "/roles?id=members&tab=users",
    "/roles?id=members&tab=accounts",
    "/roles?id=nothing",
    "/modules",
    "/modules?id=api0",
)

SEARCH = Counter(Query=MAX_PAGE_REQUESTS - SHARDS)
"""What a page of the audit may cost more where there are more rows: a search reads each shard, and on up to a bound."""
CACHED = {"GetParameters", "broker.session"}
"""The requests whose answers are cached for seconds, and whose number no organization changes."""


@pytest.fixture
def ada(browser: Browser, messages: list[dict[str, Any]]) -> Iterator[Browser]:
    browser.log_in("ada")
    yield browser
    messages.clear()


def look(browser: Browser, aws: list[str], messages: list[dict[str, Any]]) -> dict[str, tuple[Counter[str], int]]:
    """Return the requests to AWS and to the broker of each page, and its bytes as sent."""
    for path in ("/", "/users"):  # which read what is kept until it changes
        browser.get(path)
    seen = {}
    for path in PAGES:
        aws.clear()
        messages.clear()
        page = browser.get(path)["body"].encode()
        asked = Counter([*aws, *(f"broker.{message['operation']}" for message in messages)])
        seen[path] = (
            Counter({name: count for name, count in asked.items() if name not in CACHED}),
            len(gzip.compress(page, 6)),
        )
    return seen


def asset_bytes() -> int:
    """Return the bytes of all styles and scripts as sent."""
    files = [path for path in rendering.ASSETS.iterdir() if path.suffix in rendering.ASSET_TYPES]
    return sum(len(gzip.compress(path.read_bytes(), 6)) for path in files)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size.users} users")
def test_a_page_costs_the_same_requests_and_stays_small_however_large_the_organization_is(
    ada: Browser, aws: list[str], messages: list[dict[str, Any]], login: FullIssuer, size: Size
) -> None:
    grow("acme", Subject(login.issuer, "ada"), SMALL)
    look(ada, aws, messages)  # which fills the caches
    small = look(ada, aws, messages)
    grow("acme", Subject(login.issuer, "ada"), size)
    large = look(ada, aws, messages)
    most = {path: found + (SEARCH if path.startswith("/logs") else Counter()) for path, (found, _) in small.items()}
    more = {path: (most[path], found) for path, (found, _) in large.items() if found - most[path]}
    assert more == {}
    room = MAX_PAGE_BYTES - asset_bytes()
    assert {path: (found, room) for path, (_, found) in large.items() if found > room} == {}
