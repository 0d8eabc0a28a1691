"""What the account allows, against what the stack may want."""

from collections.abc import Iterator

from infra.cli.doctor.deployment import Deployment, redeploy_hint
from infra.cli.doctor.finding import Finding, ok, problem, skipped, warning
from mcpist.aws.clients import client
from mcpist.batch.machine import machine_usage

# AWS lets nobody reserve these, and a few people's calls and batches want as many.
MIN_UNRESERVED_CONCURRENCY = 100
WARNING_SHARE = 0.9


def concurrency(deployment: Deployment) -> Iterator[Finding]:
    """Whether the account runs as many functions at once as are reserved, and some more."""
    if deployment.embedded:
        yield skipped("the embedded AWS has no account limit")
        return
    limit = client("lambda").get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    reserved = sum(int(deployment.parameters[name]) for name in ("BrokerConcurrency", "StepConcurrency"))
    quota = "service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384"
    more = deployment.aws(f"{quota} --desired-value 1000")
    said = f"the account runs {limit} functions at once, and {reserved} are reserved"
    if reserved and limit - reserved < MIN_UNRESERVED_CONCURRENCY:
        smaller = redeploy_hint(BrokerConcurrency="0", StepConcurrency="0")
        yield problem(f"{said}: AWS wants {MIN_UNRESERVED_CONCURRENCY} unreserved", f"{more}, or until then: {smaller}")
    elif limit < MIN_UNRESERVED_CONCURRENCY:
        yield warning(f"{said}: a batch and a few people fill it", f"{more}.")
    else:
        yield ok(said)


def machines(deployment: Deployment) -> Iterator[Finding]:
    """Whether new batches can have machines."""
    limit = int(deployment.parameters["MachineLimit"])
    standing = sum(1 for _ in machine_usage.list_machines())
    said = f"{standing} state machines in the account, MachineLimit is {limit}"
    if standing >= limit:
        remedy = f"Remove some that are not this stack's. {redeploy_hint(MachineLimit='THE_QUOTA')}"
        yield problem(f"{said}: batches of new shapes wait for each other on one machine", remedy)
    elif standing > limit * WARNING_SHARE:
        yield warning(
            said, "The janitor removes this stack's unused ones every hour; remove others, or raise the quota."
        )
    else:
        yield ok(said)
