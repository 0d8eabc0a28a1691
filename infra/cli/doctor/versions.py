"""The functions' versions: `live`, which everybody calls, against the newest one and against what was deployed last."""

from collections.abc import Iterator, Mapping
from typing import Any

from infra.cli.doctor.deployment import Deployment, template
from infra.cli.doctor.finding import Finding, ok, problem, skipped, warning
from mcpist.aws.clients import client

# What a deployment sets; the rest of a configuration, such as dates, differs between a version and `$LATEST` anyway.
COMPARED = (
    "Architectures",
    "CodeSha256",
    "Environment",
    "Handler",
    "Layers",
    "LoggingConfig",
    "MemorySize",
    "Role",
    "Runtime",
    "Timeout",
    "TracingConfig",
)
REDEPLOY = "Deploy again with `make deploy`."


def functions(deployment: Deployment) -> Iterator[Finding]:
    """Check that the alias `live` of each function runs what was deployed last."""
    if deployment.embedded:
        yield skipped("the embedded AWS publishes no versions")
        return
    for function in template().functions:
        yield _compare(deployment, function.id)
    if not deployment.environment("McpEndpointFunction").get("REVISION"):
        found = "the template was deployed without a revision: changed parameters do not reach live"
        yield warning(found, REDEPLOY)


def _compare(deployment: Deployment, id_: str) -> Finding:
    name = deployment.resources[id_]
    live = client("lambda").get_alias(FunctionName=name, Name="live")["FunctionVersion"]
    pages = client("lambda").get_paginator("list_versions_by_function").paginate(FunctionName=name)
    versions = [one["Version"] for page in pages for one in page["Versions"]]
    newest = max((one for one in versions if one.isdecimal()), key=int, default=live)
    if live != newest:
        update = f"lambda update-alias --function-name {name} --name live --function-version {newest}"
        return warning(f"{id_}: live is version {live}, the newest is {newest}", deployment.aws(update))
    differing = [*_differences(_configuration(name, "$LATEST"), _configuration(name, live))]
    if differing:
        return problem(f"{id_}: live (version {live}) has another {', '.join(differing)} than $LATEST", REDEPLOY)
    return ok(f"{id_}: live is version {live}, and equal to $LATEST")


def _configuration(name: str, qualifier: str) -> dict[str, Any]:
    found: dict[str, Any] = client("lambda").get_function_configuration(FunctionName=name, Qualifier=qualifier)
    return found


def _differences(latest: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of what differs; of variables their names, never their values."""
    for field in COMPARED:
        if field == "Environment":
            mine, theirs = (one.get(field, {}).get("Variables", {}) for one in (latest, live))
            yield from sorted(name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name))
        elif latest.get(field) != live.get(field):
            yield field
