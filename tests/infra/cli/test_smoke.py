"""What `mcpist smoke` reads in an account; tests/whole tries the rest beside a running deployment."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from infra.cli.doctor.deployment import Deployment
from infra.cli.smoke import logs, metrics
from mcpist.aws import clients

type Answers = Callable[..., None]

LONG_AGO = datetime(2026, 11, 22, tzinfo=UTC)
DEPLOYMENT = Deployment(
    name="acme-mcpist",
    status="CREATE_COMPLETE",
    embedded=False,
    url="https://mcp.example.com",
    parameters={},
    resources={"McpEndpointFunction": "acme-endpoint"},
    environment=lambda _: {"POWERTOOLS_METRICS_NAMESPACE": "mcpist/acme"},
    upstreams=Path("upstreams.json"),
)


@pytest.fixture
def answers(aws: list[str]) -> Iterator[Answers]:
    """Let AWS have these log events, and these sums of a metric."""
    aws.clear()
    session, handlers = clients.session(), []

    def answer(events: int = 0, sums: tuple[float, ...] = ()) -> None:
        found: dict[str, Any] = {
            "lambda.GetFunctionConfiguration": {"LoggingConfig": {"LogGroup": "/acme/log"}},
            "cloudwatch-logs.FilterLogEvents": {"events": [{}] * events},
            "cloudwatch.GetMetricStatistics": {"Datapoints": [{"Sum": one} for one in sums]},
        }
        for operation, body in found.items():
            handlers.append((f"before-call.{operation}", lambda body=body, **_: (_Ok(), body)))
            session.register(*handlers[-1])

    yield answer
    for handler in handlers:
        session.unregister(*handler)


class _Ok:
    status_code = 200


def test_responses_in_the_log_are_counted(answers: Answers) -> None:
    answers(events=3)
    found = logs(DEPLOYMENT, LONG_AGO, 0)
    assert (found.state, found.found) == ("ok", "/acme/log: 3 responses")


def test_a_log_without_responses_is_a_problem_with_its_remedy(answers: Answers) -> None:
    answers()
    found = logs(DEPLOYMENT, LONG_AGO, 0)
    assert (found.state, found.found) == ("problem", "/acme/log got no response within 0 s")
    assert "logs tail /acme/log --since 10m" in found.remedy


def test_calls_are_added_up_over_the_minutes(answers: Answers) -> None:
    answers(sums=(2.0, 3.0))
    found = metrics(DEPLOYMENT, LONG_AGO, 0)
    assert (found.state, found.found) == ("ok", "mcpist/acme: 5 calls")


def test_a_metric_without_calls_is_a_warning_since_it_may_come_late(answers: Answers) -> None:
    answers()
    found = metrics(DEPLOYMENT, LONG_AGO, 0)
    assert (found.state, found.found) == ("warning", "mcpist/acme counted no call within 0 s")
