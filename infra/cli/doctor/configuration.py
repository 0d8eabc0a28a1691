"""The stack, its parameters, the versions of its functions, the upstreams' file and the limits of the account."""

from collections.abc import Iterator, Mapping
from typing import Any

from infra.cli.deployable import undeployable
from infra.cli.doctor.deployment import CheckFinding, Deployment, ok, problem, skipped, template, warning
from infra.deploy.stack import MIN_UNRESERVED_CONCURRENCY, Concurrency
from mcpist.aws.clients import client
from mcpist.batch.machine import machine_usage
from mcpist.errors import InvalidConfiguration
from mcpist.loopback import is_loopback_url
from mcpist_services.upstream.configuration import load

GOOD = {"CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE"}
ROLLED_BACK = {"UPDATE_ROLLBACK_COMPLETE", "IMPORT_ROLLBACK_COMPLETE"}
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
WARNING_SHARE = 0.9
REDEPLOY = "Deploy again with `make deploy`."


def stack(deployment: Deployment) -> CheckFinding:
    """Check CloudFormation's status of the stack."""
    events = deployment.aws(f"cloudformation describe-stack-events --stack-name {deployment.name}")
    summary = f"{deployment.name} is {deployment.status}"
    if deployment.embedded:
        return skipped("the embedded AWS has no CloudFormation")
    if deployment.status in GOOD:
        return ok(summary)
    if deployment.status in ROLLED_BACK:
        return warning(f"{summary}: the last deployment failed", f"{events} says why; deploy again.")
    if deployment.status.endswith("_IN_PROGRESS"):
        return warning(f"{summary}: a change is running", "Wait for its end, and run the doctor again.")
    return problem(summary, f"{events} says why; deploy again, or remove the stack with `sam delete`.")


def public_url(deployment: Deployment) -> CheckFinding:
    """Check that clients elsewhere can reach the endpoint's address."""
    if not deployment.embedded and is_loopback_url(deployment.url):
        found = f"PublicUrl is {deployment.url}, which is this machine's own address"
        return problem(found, deployment.redeploy(PublicUrl="''"))
    return ok(deployment.url)


def audience(deployment: Deployment) -> CheckFinding:
    """Check that clients will request tokens for the URL that they connect to."""
    mcp_url = f"{deployment.url}/mcp"
    if f"{mcp_url}/".startswith(f"{deployment.resource}/"):
        return ok(deployment.resource)
    found = f"Audience is {deployment.resource}, and clients connect to {mcp_url}: strict ones refuse"
    return warning(found, deployment.redeploy(Audience="''"))


def connect_client(deployment: Deployment) -> CheckFinding:
    """Check that the console has a client at the login."""
    if deployment.connect_client:
        return ok(deployment.connect_client)
    register = f"Register a public client with the redirect URI {deployment.url}/connect/login at the issuer."
    found = "LoginClientId and ConnectClientId are empty: the console cannot log people in"
    return problem(found, f"{register} {deployment.redeploy(ConnectClientId='ITS_ID')}")


def kept(deployment: Deployment) -> CheckFinding:
    """Check that large results are kept as long as their batches."""
    days, hours = int(deployment.parameters["FileDays"]), int(deployment.parameters["KeepHours"])
    if days * 24 < hours:
        found = f"FileDays is {days} and KeepHours is {hours}: large results are deleted before their batches"
        return warning(found, deployment.redeploy(FileDays=str(-(-hours // 24))))
    return ok(f"batches for {hours} hours, large results for {days} days")


def former_key(deployment: Deployment) -> CheckFinding:
    """Check that a change of the vault's key is complete."""
    former = deployment.parameters["FormerVaultKey"]
    if not former:
        return ok("no former key of the vault is in use")
    reseal = deployment.mcpist("grant reencrypt --organization ORG --token TOKEN")
    remedy = f"Run {reseal} for each organization. {deployment.redeploy(FormerVaultKey=chr(39) * 2)}"
    return warning(f"FormerVaultKey is still {former}", remedy)


def upstreams(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that the file of the upstream servers is valid and that its secrets are stored."""
    file = deployment.upstreams
    check = f"`mcpist upstream check {file}` says more."
    if not file.exists():
        yield ok(f"there is no file {file}, so there are no upstream servers")
        return
    try:
        configured = load(file)
    except InvalidConfiguration as error:
        yield problem(str(error), f"Correct the file; {check}")
        return
    broken = [] if deployment.embedded else list(undeployable(configured, file.parent))
    for field, why in broken:
        yield problem(f"{file}: {field}: {why}", f"Correct it and deploy again; {check}")
    references = {one for server in configured.servers.values() for one in server.references}
    for name in sorted(one.removeprefix("ssm:") for one in references if one.startswith("ssm:")):
        named = [{"Key": "Name", "Option": "Equals", "Values": [name]}]
        if not client("ssm").describe_parameters(ParameterFilters=named)["Parameters"]:
            put = deployment.mcpist(f"upstream secret set {name.partition('/upstreams/')[2] or name}")
            yield problem(f"{file} names the parameter {name}, and there is none", put)
    if not broken:
        sizes = f"{len(configured.servers)} servers, {len(configured.all_categories)} categories"
        yield ok(f"{file}: {sizes}, on this machine" + (f"; {check}" if configured.servers else ""))


def functions(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that the alias `live` of each function runs what was deployed last."""
    if deployment.embedded:
        yield skipped("the embedded AWS publishes no versions")
        return
    for function in template().functions:
        yield _compare(deployment, function.id)
    if not deployment.environment("McpEndpointFunction").get("REVISION"):
        found = "the template was deployed without a revision: changed parameters do not reach live"
        yield warning(found, REDEPLOY)


def _compare(deployment: Deployment, id_: str) -> CheckFinding:
    name = deployment.resources[id_]
    live = client("lambda").get_alias(FunctionName=name, Name="live")["FunctionVersion"]
    pages = client("lambda").get_paginator("list_versions_by_function").paginate(FunctionName=name)
    versions = [one["Version"] for page in pages for one in page["Versions"]]
    # `$LATEST` is listed, too, and is no number.
    newest = max((one for one in versions if one.isdecimal()), key=int, default=live)
    if live != newest:
        update = f"lambda update-alias --function-name {name} --name live --function-version {newest}"
        return warning(f"{id_}: live is version {live}, the newest is {newest}", deployment.aws(update))
    read = client("lambda").get_function_configuration
    both = [read(FunctionName=name, Qualifier=qualifier) for qualifier in ("$LATEST", live)]
    differing = [*_differences(*both)]
    if differing:
        return problem(f"{id_}: live (version {live}) has another {', '.join(differing)} than $LATEST", REDEPLOY)
    return ok(f"{id_}: live is version {live}, and equal to $LATEST")


def _differences(latest: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of what differs; of variables their names, never their values."""
    for field in COMPARED:
        if field == "Environment":
            mine, theirs = (one.get(field, {}).get("Variables", {}) for one in (latest, live))
            yield from sorted(name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name))
        elif latest.get(field) != live.get(field):
            yield field


def concurrency(deployment: Deployment) -> CheckFinding:
    """Check that the account's concurrency exceeds the reserved one."""
    if deployment.embedded:
        return skipped("the embedded AWS has no account limit")
    account = client("lambda").get_account_settings()["AccountLimit"]
    limit, unreserved = account["ConcurrentExecutions"], account["UnreservedConcurrentExecutions"]
    reserved = sum(int(deployment.parameters[name]) for name in ("BrokerConcurrency", "StepConcurrency"))
    quota = "service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384"
    more = deployment.aws(f"{quota} --desired-value 1000")
    summary = f"the account runs {limit} functions at once, and {reserved} are reserved"
    if reserved and limit - reserved < MIN_UNRESERVED_CONCURRENCY:
        smaller = deployment.redeploy(BrokerConcurrency="0", StepConcurrency="0")
        return problem(
            f"{summary}: AWS needs {MIN_UNRESERVED_CONCURRENCY} unreserved", f"{more}, or until then: {smaller}"
        )
    if limit < MIN_UNRESERVED_CONCURRENCY:
        return warning(f"{summary}: a batch and a few people use all of them", f"{more}.")
    if suitable := _suitable(deployment, Concurrency(limit, unreserved)):
        names = ", ".join(suitable)
        return warning(f"{summary}: {names} could be larger", deployment.redeploy(**suitable))
    return ok(summary)


def _suitable(deployment: Deployment, account: Concurrency) -> dict[str, str]:
    """Return the parameters that are still those of a new account; the owner's own choices are left."""
    suited, small = account.parameters, Concurrency(0, 0).parameters
    return {
        name: suited[name] for name, value in small.items() if deployment.parameters.get(name) == value != suited[name]
    }


def machines(deployment: Deployment) -> CheckFinding:
    """Check that new batches can have machines."""
    limit = int(deployment.parameters["MachineLimit"])
    count = sum(1 for _ in machine_usage.list_machines())
    summary = f"{count} state machines in the account, MachineLimit is {limit}"
    if count >= limit:
        remedy = f"Remove machines that do not belong to this stack. {deployment.redeploy(MachineLimit='THE_QUOTA')}"
        return problem(f"{summary}: batches of new shapes all run on one machine, the relay", remedy)
    if count > limit * WARNING_SHARE:
        return warning(
            summary, "The janitor removes this stack's unused ones every hour; remove others, or raise the quota."
        )
    return ok(summary)
