"""`mcpist doctor`: run all checks, list their findings, and succeed if none of them is a problem."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

import httpx2
from botocore.exceptions import BotoCoreError, ClientError
from typer import Option

from infra.cli.doctor import configuration, endpoint, issuer, people, stores
from infra.cli.doctor.deployment import CheckFinding, problem, read_deployment, skipped
from infra.cli.document import CommandError, CommandResult
from infra.cli.options import OrganizationOption, Target
from infra.cli.table import table_rows
from infra.cli.target import opened
from infra.local.environment import TABLES
from mcpist.aws.clients import AwsError
from mcpist.errors import McpistError

type Findings = CheckFinding | Iterable[CheckFinding]
"""What a check found: one thing, or several."""


class Check(NamedTuple):
    """One question about a deployment."""

    area: str
    about: str
    run: Callable[[Any], Findings]


CHECKS = (
    Check("configuration", "stack", configuration.stack),
    Check("configuration", "PublicUrl", configuration.public_url),
    Check("configuration", "Audience", configuration.audience),
    Check("configuration", "ConnectClientId", configuration.connect_client),
    Check("configuration", "FileDays", configuration.kept),
    Check("configuration", "FormerVaultKey", configuration.former_key),
    Check("configuration", "functions", configuration.functions),
    Check("configuration", "upstreams", configuration.upstreams),
    Check("endpoint", "TLS", endpoint.tls),
    Check("endpoint", "resource metadata", endpoint.resource),
    Check("endpoint", "challenge", endpoint.challenge),
    Check("endpoint", "login metadata", endpoint.login_metadata),
    Check("issuer", "metadata", issuer.discovery),
    Check("issuer", "keys", issuer.keys),
    Check("issuer", "clients", issuer.login),
    Check("issuer", "our client", issuer.client),
    Check("issuer", "issuers by domain", issuer.domains),
    Check("keys", "VaultKey", partial(stores.key, id_="VaultKey")),
    Check("keys", "VaultKey policy", stores.policy),
    Check("keys", "DataKey", partial(stores.key, id_="DataKey")),
    Check("keys", "FormerVaultKey", stores.former_key),
    *(Check("stores", table, partial(stores.table, id_=table)) for table in TABLES.values()),
    Check("stores", "FilesBucket", stores.bucket),
    Check("apps", "stored", people.apps_stored),
    Check("apps", "usable", people.apps_usable),
    Check("directory", "organizations", people.organizations),
    Check("directory", "roles", people.roles),
    Check("clock", "endpoint", endpoint.clock),
    Check("limits", "concurrency", configuration.concurrency),
    Check("limits", "machines", configuration.machines),
)

CLOCK_OF_AWS = Check("clock", "AWS", lambda target: endpoint.clock_of_aws(target.profile, target.region))
_COLUMNS = ("state", "area", "about", "found")


def run_doctor(
    target: Target,
    token: Annotated[
        str | None,
        Option(metavar="TOKEN", help="An administrator's access token, to ask the broker. [default: the last `up`'s]"),
    ] = None,
    organization: OrganizationOption = None,
) -> CommandResult:
    """Check a deployment and show how to correct it; fail if there is a problem."""
    # If the clock is wrong, AWS refuses every other request.
    findings = list(run_checks([CLOCK_OF_AWS], target)) if target.deployed else []
    try:
        with opened(target):
            findings += run_checks(CHECKS, read_deployment(target, token, organization))
    except CommandError as error:
        if not target.deployed:
            raise
        findings.append(problem(str(error), error.error["hint"], "configuration", "stack"))
    return report(findings, "mcpist doctor")


def run_checks(checks: Iterable[Check], subject: Any, remedy: str = "") -> Iterator[CheckFinding]:
    """Yield the findings of checks of one subject, each with the place of its check."""
    for area, about, check in checks:
        for finding in run_check(partial(check, subject), remedy):
            yield replace(finding, area=area, about=about)


def run_check(check: Callable[[], Findings], remedy: str = "") -> Iterator[CheckFinding]:
    """Yield a check's findings; an error is a problem if there is a `remedy`, else it skips the rest of this check."""
    try:
        found = check()
        yield from [found] if isinstance(found, CheckFinding) else found
    except ClientError as error:
        refusal = f"AWS refused {error.operation_name}: {error.response['Error'].get('Code')}"
        yield problem(str(error), remedy) if remedy else skipped(refusal)
    except (AwsError, BotoCoreError, CommandError, McpistError, OSError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        yield problem(str(error), remedy) if remedy else skipped(str(error))


def report(findings: Sequence[CheckFinding], command: str) -> CommandResult:
    """Return the findings; raise CommandError with them if one of them is a problem."""
    counts = dict(Counter(one.state for one in findings))
    facts = {"findings": list(map(asdict, findings)), "counts": counts}
    table = table_rows(_COLUMNS, map(attrgetter(*_COLUMNS), findings))
    remedies = ["", *(f"    {one.remedy}" if one.remedy else "" for one in findings)]
    texts = [text for pair in zip(table, remedies, strict=True) for text in pair if text]
    drawing = "\n".join([*texts, ", ".join(f"{count} {state}" for state, count in counts.items())])
    if not counts.get("problem"):
        return CommandResult(metadata=facts, drawing=drawing)
    hint = f"Do what the remedies in the details say, and run `{command}` again."
    raise CommandError("NOT_CONFIGURED", f"Problems: {counts['problem']}.", hint, facts, drawing=drawing)
