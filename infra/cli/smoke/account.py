"""Checks with AWS's credentials: what runs, and that its log lines and metrics arrive."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from infra.cli.doctor.deployment import Deployment
from infra.cli.doctor.finding import Finding, ok, problem, warning
from mcpist.aws.clients import client
from mcpist.polling import Polling

FUNCTION = "McpEndpointFunction"
POLLING = Polling(initial_seconds=0.5, max_seconds=5)


def logs(deployment: Deployment, since: datetime, seconds: float) -> Iterator[Finding]:
    """Check that the endpoint's responses since then are in its log."""
    name = deployment.resources[FUNCTION]
    configuration = client("lambda").get_function_configuration(FunctionName=name, Qualifier="live")
    group = configuration["LoggingConfig"]["LogGroup"]
    start = round(since.timestamp() * 1000)

    def read() -> int:
        found = client("logs").filter_log_events(logGroupName=group, startTime=start, filterPattern='"response"')
        return len(found["events"])

    count = POLLING.wait(read(), bool, read, seconds)
    if count:
        yield ok(f"{group}: {count} responses")
    else:
        tail = deployment.aws(f"logs tail {group} --since 10m")
        yield problem(f"{group} got no response within {seconds:.0f} s", f"{tail}; LogLevel must be INFO or DEBUG.")


def metrics(deployment: Deployment, since: datetime, seconds: float) -> Iterator[Finding]:
    """Check that the calls since then are counted by CloudWatch."""
    namespace = deployment.environment(FUNCTION)["POWERTOOLS_METRICS_NAMESPACE"]
    start = since.replace(second=0, microsecond=0)

    def read() -> float:
        found = client("cloudwatch").get_metric_statistics(
            Namespace=namespace,
            MetricName="Calls",
            Dimensions=[{"Name": "service", "Value": "mcpist"}],
            StartTime=start,
            EndTime=datetime.now(UTC) + timedelta(minutes=1),
            Period=60,
            Statistics=["Sum"],
        )
        return float(sum(point["Sum"] for point in found["Datapoints"]))

    total = POLLING.wait(read(), bool, read, seconds)
    if total:
        yield ok(f"{namespace}: {total:.0f} calls")
    else:
        show = deployment.aws(f"cloudwatch list-metrics --namespace {namespace}")
        yield warning(f"{namespace} counted no call within {seconds:.0f} s", f"CloudWatch may need minutes: {show}")
