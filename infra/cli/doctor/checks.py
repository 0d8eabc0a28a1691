"""All checks, in the order in which they run and are shown; none needs another."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

import httpx2
from botocore.exceptions import BotoCoreError, ClientError

from infra.cli.doctor import apps, clock, configuration, endpoint, issuer, keys, limits, people, stores, versions
from infra.cli.doctor.deployment import Deployment
from infra.cli.doctor.finding import Finding, skipped
from infra.cli.document import CommandError
from infra.cli.target import TABLES
from mcpist.aws.clients import AwsError
from mcpist.errors import McpistError

type Findings = Callable[[Deployment], Iterable[Finding]]


class Check(NamedTuple):
    """One question about a deployment."""

    area: str
    about: str
    findings: Findings


class CheckResult(NamedTuple):
    """One finding of a check."""

    area: str
    about: str
    finding: Finding


CHECKS = (
    Check("configuration", "stack", configuration.stack),
    Check("configuration", "PublicUrl", configuration.public_url),
    Check("configuration", "Audience", configuration.audience),
    Check("configuration", "ConnectClientId", configuration.connect_client),
    Check("configuration", "LocalRedirects", configuration.redirects),
    Check("configuration", "FileDays", configuration.kept),
    Check("configuration", "FormerVaultKey", configuration.former_key),
    Check("configuration", "functions", versions.functions),
    Check("configuration", "upstreams", configuration.upstreams),
    Check("endpoint", "TLS", endpoint.tls),
    Check("endpoint", "resource metadata", endpoint.resource),
    Check("endpoint", "challenge", endpoint.challenge),
    Check("endpoint", "login metadata", endpoint.login_metadata),
    Check("issuer", "metadata", issuer.discovery),
    Check("issuer", "keys", issuer.keys),
    Check("issuer", "clients", issuer.login),
    Check("issuer", "connect client", issuer.connect_client),
    Check("keys", "VaultKey", partial(keys.key, id_="VaultKey")),
    Check("keys", "VaultKey policy", keys.policy),
    Check("keys", "DataKey", partial(keys.key, id_="DataKey")),
    Check("keys", "FormerVaultKey", keys.former),
    *(Check("stores", table, partial(stores.table, id_=table)) for table in TABLES.values()),
    Check("stores", "FilesBucket", stores.bucket),
    Check("apps", "stored", apps.stored),
    Check("apps", "usable", apps.usable),
    Check("directory", "organizations", people.organizations),
    Check("directory", "roles", people.roles),
    Check("clock", "endpoint", clock.against_endpoint),
    Check("limits", "concurrency", limits.concurrency),
    Check("limits", "machines", limits.machines),
)


def run_checks(deployment: Deployment) -> list[CheckResult]:
    """Run all checks and return their findings."""
    return [
        CheckResult(one.area, one.about, finding)
        for one in CHECKS
        for finding in run_check(partial(one.findings, deployment))
    ]


def run_check(findings: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """Yield a check's findings; an error only skips the rest of this check."""
    try:
        yield from findings()
    except ClientError as error:
        yield skipped(f"AWS refused {error.operation_name}: {error.response['Error'].get('Code')}")
    except (AwsError, BotoCoreError, CommandError, McpistError, OSError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        yield skipped(str(error))
