"""`mcpist smoke`: use a deployment once, and succeed if nothing is a problem."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any

from typer import Argument, Option

from infra.cli import login_store
from infra.cli.doctor import configuration
from infra.cli.doctor.command import CheckResult, Findings, report, run_check
from infra.cli.doctor.deployment import CheckFinding, Deployment, ok, problem, read_deployment, skipped, warning
from infra.cli.document import CommandResult
from infra.cli.endpoint import Endpoint
from infra.cli.options import Target, Token, chosen
from infra.cli.rest_client import RestSession, origin_of
from infra.cli.smoke import checks
from infra.cli.stacks import last_up
from infra.cli.target import opened
from mcpist.aws.clients import client
from mcpist.polling import Polling

type Checks = Mapping[str, Callable[[Any], Findings]]

_PUBLIC: Checks = {
    "resource metadata": checks.resource,
    "authorization server": checks.login,
    "challenge": checks.challenge,
}
_WITH_TOKEN: Checks = {
    "token": lambda endpoint: checks.claims(endpoint.url, endpoint.session.access_token()),
    "tools": checks.three_tools,
    "call": checks.call,
    "batch": checks.batch,
}
_UNKNOWN = {
    "use": skipped("nobody is logged in there: mcpist login --url URL, or --token"),
    "account": skipped("no stack was named: --stack"),
}
_REMEDIES = {
    "login": "Check the URL (the output McpUrl), its DNS name and its certificate.",
    "use": "`mcpist doctor --stack STACK` checks what the endpoint needs.",
    "account": "Use a profile that may read the stack, Lambda, logs and metrics: --profile.",
}
FUNCTION = "McpEndpointFunction"
POLLING = Polling(initial_seconds=0.5, max_seconds=5)


def run_smoke(
    target: Target,
    url: Annotated[str | None, Argument(metavar="URL", help="The output McpUrl. [default: the last `up`'s]")] = None,
    token: Token = None,
    wait: Annotated[int, Option(metavar="SECONDS", help="How long to wait for log lines, and for a metric.")] = 60,
) -> CommandResult:
    """Use a deployment once, as a client does; with --stack, look for the traces in the account as well."""
    url, token = chosen(url, token)
    if url is None:
        last = last_up("give the URL")
        url, token = str(last["mcp_url"]), token or str(last["access_token"])
    elif token is None and (login := login_store.find(origin_of(url))):
        token = RestSession(login.url, login=login).access_token()
    since = datetime.now(UTC)
    in_account: Checks = {
        "live": configuration.functions,
        "logs": partial(logs, since=since, seconds=wait),
        "metrics": partial(metrics, since=since, seconds=wait),
    }
    lines = [*_run("login", _PUBLIC, url), *_run("use", _WITH_TOKEN, Endpoint.at(url, token) if token else None)]
    with opened(target) if target.deployed else nullcontext():
        deployment = read_deployment(target, None, None) if target.deployed else None
        lines += _run("account", in_account, deployment)
    return report(lines, "mcpist smoke")


def _run(area: str, checks: Checks, subject: Any) -> Iterator[CheckResult]:
    """Run the checks of an area; without a subject they are skipped, and an error is a problem here."""
    for about, check in checks.items():
        found = run_check(partial(check, subject), _REMEDIES[area]) if subject else (_UNKNOWN[area],)
        yield from (CheckResult(area, about, finding) for finding in found)


def logs(deployment: Deployment, since: datetime, seconds: float) -> CheckFinding:
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
        return ok(f"{group}: {count} responses")
    tail = deployment.aws(f"logs tail {group} --since 10m")
    return problem(f"{group} got no response within {seconds:.0f} s", f"{tail}; LogLevel must be INFO or DEBUG.")


def metrics(deployment: Deployment, since: datetime, seconds: float) -> CheckFinding:
    """Check that the calls since then are counted by CloudWatch."""
    namespace = deployment.environment(FUNCTION)["POWERTOOLS_METRICS_NAMESPACE"]
    # CloudWatch counts by whole minutes, and the calls were in the course of the first.
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
        return ok(f"{namespace}: {total:.0f} calls")
    show = deployment.aws(f"cloudwatch list-metrics --namespace {namespace}")
    return warning(f"{namespace} counted no call within {seconds:.0f} s", f"CloudWatch may need minutes: {show}")
