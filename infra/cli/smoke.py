"""`mcpist smoke`: use a deployment once, and succeed if nothing is a problem.

The login is found as a client finds it, then the token, the tools, a call and a batch are tried, and their traces.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlsplit

import jwt
from typer import Argument, Option

from infra.cli import login_store
from infra.cli.doctor import configuration
from infra.cli.doctor.command import Check, Findings, report, run_checks
from infra.cli.doctor.deployment import CheckFinding, Deployment, ok, problem, read_deployment, skipped, warning
from infra.cli.doctor.endpoint import challenge_at, document, issuers, registration, resource_addresses, server_metadata
from infra.cli.document import CommandError, CommandResult
from infra.cli.endpoint import Endpoint
from infra.cli.options import Target, Token, chosen
from infra.cli.rest_client import RestSession, origin_of
from infra.cli.stacks import last_up
from infra.cli.target import opened
from mcpist.aws.clients import client
from mcpist.polling import Polling

type Checks = Mapping[str, Callable[[Any], Findings]]

_UNKNOWN = {
    "use": skipped("nobody is logged in there: mcpist login --url URL, or --token"),
    "account": skipped("no stack was named: --stack"),
}
_REMEDIES = {
    "login": "Check the URL (the output McpUrl), its DNS name and its certificate.",
    "use": "`mcpist doctor --stack STACK` checks what the endpoint needs.",
    "account": "Use a profile that may read the stack, Lambda, logs and metrics: --profile.",
}
ADDRESS_HINT = "Use the output McpUrl of the stack: `mcpist doctor --stack STACK` says what is wrong with its address."
SHOWN = ("iss", "aud", "scope", "client_id", "token_use")
LOGIN_HINT = "Get a token for this URL: log in with a client of docs/clients.md, and give its access token by --token."
TOOLS = {"get_module_schema", "call", "batch"}
STEPS = (
    {"id": "tags", "module": "rag", "tool": "list_tags", "params": {"limit": 2}, "output": True},
    # With `each` it needs a machine.
    {
        "id": "find",
        "module": "rag",
        "tool": "search_docs",
        "each": "${tags.items}",
        "params": {"query": "${each.tag}"},
    },
)
BATCH_SECONDS = 60
BATCH_POLLING = Polling(initial_seconds=0.5, max_seconds=3)
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
    elif token is None and (known := login_store.find(origin_of(url))):
        token = RestSession(known.url, login=known).access_token()
    endpoint = Endpoint.at(url, token) if token else None
    since = datetime.now(UTC)
    in_account: Checks = {
        "live": configuration.functions,
        "logs": partial(logs, since=since, seconds=wait),
        "metrics": partial(metrics, since=since, seconds=wait),
    }
    findings = [*_run("login", PUBLIC, url), *_run("use", USES, endpoint)]
    # Last: the traces of what was done above are there only now.
    with opened(target) if target.deployed else nullcontext():
        deployment = read_deployment(target, None, None) if target.deployed else None
        findings += _run("account", in_account, deployment)
    return report(findings, "mcpist smoke")


def _run(area: str, checks: Checks, subject: Any) -> Iterator[CheckFinding]:
    """Run the checks of an area; without a subject they are skipped, and an error is a problem here."""
    known = (Check(area, about, check if subject else lambda _: _UNKNOWN[area]) for about, check in checks.items())
    return run_checks(known, subject, _REMEDIES[area])


def resource(url: str) -> Iterator[CheckFinding]:
    """Check the metadata of the protected resource (RFC 9728) at both of its addresses."""
    for address in resource_addresses(url):
        found = document(address)
        if not found:
            yield problem(f"{address} returns no metadata", ADDRESS_HINT)
        elif not f"{url}/".startswith(f"{str(found.get('resource', '')).rstrip('/')}/"):
            named = f"{address} names the resource {found.get('resource')}, and strict clients of {url} refuse"
            yield problem(named, "Deploy with the empty Audience: `make deploy ARGS=Audience=`.")
        else:
            yield ok(f"{urlsplit(address).path}: tokens for {found['resource']} from {', '.join(issuers(found))}")


def login(url: str) -> Iterator[CheckFinding]:
    """Check that the authorization server describes a login that MCP clients accept."""
    for issuer in issuers(document(resource_addresses(url)[0])):
        found = server_metadata(issuer)
        if found is None:
            yield problem(
                f"{issuer} publishes no metadata", "Let the issuer publish it, or deploy with another Issuer."
            )
        elif "S256" not in found.get("code_challenge_methods_supported", ()):
            yield problem(f"{issuer} does not announce PKCE with S256", "Enable it at the issuer, or use another one.")
        elif str(found.get("issuer", "")).rstrip("/") != issuer.rstrip("/"):
            yield problem(f"{issuer} calls itself {found.get('issuer')}", "Deploy with the name that it gives itself.")
        else:
            yield ok(f"{issuer}: authorization code with PKCE, {registration(found)}")


def claims(endpoint: Endpoint) -> CheckFinding:
    """Check for whom, by whom and until when the token was issued."""
    try:
        found = jwt.decode(endpoint.session.access_token(), options={"verify_signature": False})
    except jwt.PyJWTError:
        return problem("the token is no JWT", LOGIN_HINT)
    shown = ", ".join(f"{name} {found[name]}" for name in SHOWN if name in found)
    ends = float(found.get("exp", 0))
    until = f"{datetime.fromtimestamp(ends, UTC):%Y-%m-%d %H:%M} UTC"
    metadata = document(resource_addresses(endpoint.url)[0])
    audiences = {found["aud"]} if isinstance(found.get("aud"), str) else set(found.get("aud", ()))
    if ends < time.time():
        return problem(f"{shown}: it ended at {until}", LOGIN_HINT)
    if audiences and metadata.get("resource") not in audiences:
        return problem(f"{shown}: not issued for {metadata.get('resource')}", LOGIN_HINT)
    return ok(f"{shown}, until {until}")


def three_tools(endpoint: Endpoint) -> CheckFinding:
    """Check that the endpoint lists its three tools to the token's user."""
    found = {str(tool["name"]) for tool in endpoint.tools()}
    if found >= TOOLS:
        return ok(", ".join(sorted(found)))
    return problem(f"tools/list has {', '.join(sorted(found)) or 'nothing'}", "Deploy this release: `make deploy`.")


def call(endpoint: Endpoint) -> CheckFinding:
    """Check one call of rag."""
    answer = endpoint.call("call", {"module": "rag", "tool": "list_tags"})
    return ok(f"rag.list_tags: {len(answer.texts[0])} tags")


def batch(endpoint: Endpoint) -> CheckFinding:
    """Check a batch of two steps, of which one waits for the other, on a generated machine."""
    commands = "\n".join(map(json.dumps, STEPS))
    summary = _summary(endpoint, {"commands": commands})
    batch_id = summary.split()[1].rstrip(":")
    summary = BATCH_POLLING.wait(
        summary,
        lambda text: ": running" not in text,
        lambda: _summary(endpoint, {"batch_id": batch_id}),
        BATCH_SECONDS,
    )
    if ": done, 2 of 2 steps" in summary and "failed" not in summary:
        return ok(summary)
    return problem(summary, f"`mcpist batch --id {batch_id} --watch` and `mcpist timeline {batch_id}` show its steps.")


def _summary(endpoint: Endpoint, arguments: dict[str, Any]) -> str:
    return str(endpoint.call("batch", arguments).texts[0])


def _unless_refused(what: str, check: Callable[[Endpoint], CheckFinding], endpoint: Endpoint) -> CheckFinding:
    """Run a check; a refusal is a problem with the endpoint's own hint, and a missing module is an administrator's."""
    try:
        return check(endpoint)
    except CommandError as refusal:
        error = refusal
    remedy = str(error.error["hint"])
    if error.error["code"] in {"AUTHORIZATION_ERROR", "TOOL_DISABLED", "MODULE_NOT_FOUND", "TOOL_NOT_FOUND"}:
        remedy += " An administrator adds rag to the role: `mcpist role set ROLE --modules rag,... --stack STACK`."
    return problem(f"{what}: {error.error['code']}: {error}", remedy)


PUBLIC: Checks = {
    "resource metadata": resource,
    "authorization server": login,
    "challenge": partial(challenge_at, remedy=ADDRESS_HINT),
}
USES: Checks = {
    "token": claims,
    "tools": partial(_unless_refused, "tools/list", three_tools),
    "call": partial(_unless_refused, "rag.list_tags", call),
    "batch": partial(_unless_refused, "the batch", batch),
}


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
