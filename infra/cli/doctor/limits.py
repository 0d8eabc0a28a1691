"""Limits of the account, compared with the needs of the stack."""

from collections.abc import Iterator

from infra.cli.doctor.deployment import CheckFinding, Deployment, ok, problem, skipped, warning
from infra.deploy.stack import MIN_UNRESERVED_CONCURRENCY, Concurrency
from mcpist.aws.clients import client
from mcpist.batch.machine import machine_usage

WARNING_SHARE = 0.9


def concurrency(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that the account's concurrency exceeds the reserved one."""
    if deployment.embedded:
        yield skipped("the embedded AWS has no account limit")
        return
    account = client("lambda").get_account_settings()["AccountLimit"]
    limit, unreserved = account["ConcurrentExecutions"], account["UnreservedConcurrentExecutions"]
    reserved = sum(int(deployment.parameters[name]) for name in ("BrokerConcurrency", "StepConcurrency"))
    quota = "service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384"
    more = deployment.aws(f"{quota} --desired-value 1000")
    summary = f"the account runs {limit} functions at once, and {reserved} are reserved"
    if reserved and limit - reserved < MIN_UNRESERVED_CONCURRENCY:
        smaller = deployment.redeploy(BrokerConcurrency="0", StepConcurrency="0")
        yield problem(
            f"{summary}: AWS needs {MIN_UNRESERVED_CONCURRENCY} unreserved", f"{more}, or until then: {smaller}"
        )
    elif limit < MIN_UNRESERVED_CONCURRENCY:
        yield warning(f"{summary}: a batch and a few people use all of them", f"{more}.")
    elif suitable := _suitable(deployment, Concurrency(limit, unreserved)):
        names = ", ".join(suitable)
        yield warning(f"{summary}: {names} could be larger", deployment.redeploy(**suitable))
    else:
        yield ok(summary)


def _suitable(deployment: Deployment, account: Concurrency) -> dict[str, str]:
    """Return the parameters that are still those of a new account; the owner's own choices are left."""
    suited, small = account.parameters, Concurrency(0, 0).parameters
    return {
        name: suited[name] for name, value in small.items() if deployment.parameters.get(name) == value != suited[name]
    }


def machines(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that new batches can have machines."""
    limit = int(deployment.parameters["MachineLimit"])
    count = sum(1 for _ in machine_usage.list_machines())
    summary = f"{count} state machines in the account, MachineLimit is {limit}"
    if count >= limit:
        remedy = f"Remove machines that do not belong to this stack. {deployment.redeploy(MachineLimit='THE_QUOTA')}"
        yield problem(f"{summary}: batches of new shapes all run on one machine, the relay", remedy)
    elif count > limit * WARNING_SHARE:
        yield warning(
            summary, "The janitor removes this stack's unused ones every hour; remove others, or raise the quota."
        )
    else:
        yield ok(summary)
