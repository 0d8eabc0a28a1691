"""The hostile requests of the noise test, and the table of what they did."""

import json
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from benchmarks import noise
from infra.source import ROOT
from tests.core.loopback import Reply, Service, listening


def test_each_kind_of_hostile_request_takes_part() -> None:
    requests = list(noise.hostile("token", 1_000))
    assert len(requests) == 1_000
    assert sum(request["authorization"] != "Bearer token" for request in requests) == 200
    assert sum(request["pad"] > 1_000_000 for request in requests) == 200
    assert all(len(request["body"]) + request["pad"] < 10_000_000 for request in requests)


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    with listening(service.server):
        yield service
        service.closing.set()


def test_the_flood_counts_the_statuses_of_all_its_requests(service: Service) -> None:
    service.replies = [Reply(status=429), Reply(status=200)]
    address = urlsplit(service.url)
    job = {"host": address.hostname, "port": address.port, "seconds": 20, "requests": list(noise.hostile("t", 10))}
    command = [sys.executable, "-m", "benchmarks.flood"]
    done = subprocess.run(command, cwd=ROOT, input=json.dumps(job), stdout=subprocess.PIPE, text=True, check=True)
    assert json.loads(done.stdout) == {"429": 1, "200": 9}
    assert len(service.received) == 10


def test_the_table_compares_the_noisy_percentile_with_the_quiet_one() -> None:
    rows = list(noise.rows(1_000, [10.0] * 100, [15.0] * 100, {"200": 990, "429": 10}))
    assert rows[0][1] == "990 x 200, 10 x 429"
    assert rows[2][1:] == ("15 ms (1.50 x)", "2 x")


def test_the_goal_is_a_pass_or_a_miss() -> None:
    quiet = [10.0] * 100
    bound = "another organization's 95th percentile is {} x its quiet value, at most 2 x"
    assert noise.verdict(quiet, [20.0] * 100, {}) == f"pass: {bound.format('2.00')}"
    assert noise.verdict(quiet, [21.0] * 100, {}) == f"miss: {bound.format('2.10')}"
    refused = noise.verdict(quiet, quiet, {429: 2})
    assert refused == f"miss: {bound.format('1.00')}, 2 of its requests failed: {{429: 2}}"
