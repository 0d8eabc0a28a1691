"""What a new account can do, which runs ten functions at once: batches of any width, and a few people together.

The limits of requests in flight are off, since one person stands for all.
"""

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from infra.local.deployment import DeploymentOptions, LocalDeployment, run_local_deployment
from tests.accounts import connect, forget
from tests.whole.conftest import HERE, McpUser, built
from tests.whole.test_upgrade import DOORS, release

CONCURRENCY = 10
GET_ME: dict[str, Any] = {"module": "github", "tool": "get_me"}
TAGS: dict[str, Any] = {"module": "rag", "tool": "list_tags"}


@contextmanager
def new_account(request: pytest.FixtureRequest) -> Iterator[LocalDeployment]:
    folders, github = request.getfixturevalue("tmp_path_factory"), request.getfixturevalue("github")
    root = release(folders.mktemp("quota"), github)
    alone: dict[str, Any] = {"parameters": {"UserConcurrency": "0"}, "concurrency": CONCURRENCY, "only": DOORS}
    with run_local_deployment(
        DeploymentOptions(docs=HERE / "documents", root=root, modules=("github", "rag"), **alone)
    ) as deployment:
        connect(deployment, "github", "uma-canary-token")
        yield deployment


pytestmark = [pytest.mark.slow, built(new_account)]


def ended(user: McpUser, steps: list[dict[str, Any]]) -> str:
    """Return the summary of a batch when it is done, however often that takes asking."""
    (summary, *_) = user.texts("batch", commands=steps)
    batch = summary.split()[1].rstrip(":")
    while "running" in summary:
        (summary, *_) = user.texts("batch", batch_id=batch)
    return summary


def test_a_batch_that_is_wider_than_the_account_settles_every_step(user: McpUser) -> None:
    forget(user.deployment)
    summary = ended(user, [{"id": f"s{number}", **GET_ME} for number in range(30)])
    assert "done, 30 of 30 steps" in summary
    assert summary.count("succeeded") == 30


def outcomes(user: McpUser, step: dict[str, Any], people: int) -> Counter[str]:
    """How many of so many people's calls at once end in which way: `ok`, an error's code, or refused by the API."""

    def call() -> str:
        try:
            result = user.call("call", **step)
        except ExceptionGroup:
            return "refused by the API"
        return "ok" if not result.is_error else str(json.loads(result.content[0].text)["code"])

    with ThreadPoolExecutor(people) as pool:
        return Counter(pool.map(lambda _: call(), range(people)))


def test_ten_people_are_served_at_once_where_no_account_is_needed(user: McpUser) -> None:
    assert outcomes(user, TAGS, CONCURRENCY) == {"ok": CONCURRENCY}


def test_four_people_are_served_at_once_also_with_accounts_from_cold_sandboxes(user: McpUser) -> None:
    forget(user.deployment)
    assert outcomes(user, GET_ME, 4) == {"ok": 4}


def test_more_people_than_the_account_serves_are_told_to_come_again_and_can(user: McpUser) -> None:
    forget(user.deployment)
    told = outcomes(user, GET_ME, 30)
    assert sum(told.values()) == 30
    assert set(told) <= {"ok", "RATE_LIMIT_EXCEEDED", "refused by the API"}
    assert told["ok"]
    assert told["refused by the API"]
    assert outcomes(user, GET_ME, 4) == {"ok": 4}
