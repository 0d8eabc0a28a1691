"""Comparison of this machine's clock with others, since signatures and tokens expire after minutes."""

import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

import httpx2

from infra.cli.doctor.deployment import Deployment
from infra.cli.doctor.finding import Finding, ok, problem, skipped, warning
from infra.cli.doctor.web import ask

WARNING_SKEW_SECONDS = 60
MAX_SKEW_SECONDS = 300
REMEDY = "Set this machine's clock: `sudo timedatectl set-ntp true`, or on macOS `sudo sntp -sS time.apple.com`."


def against_endpoint(deployment: Deployment) -> Iterator[Finding]:
    """Compare this machine's clock with the endpoint's."""
    yield against(deployment.url)


def against_aws(profile: str | None, region: str | None) -> Iterator[Finding]:
    """Compare this machine's clock with AWS's; this needs neither a right nor a stack."""
    import botocore.session

    session = botocore.session.Session(profile=profile)
    region = region or session.get_config_variable("region") or "us-east-1"
    yield against(session.create_client("sts", region_name=region).meta.endpoint_url)


def against(url: str) -> Finding:
    """Compare this machine's clock with the header `Date` of a response."""
    before = time.time()
    try:
        date = ask("GET", url).headers.get("date")
    except httpx2.HTTPError as error:
        return skipped(f"{url} cannot be reached: {error}")
    try:
        there = parsedate_to_datetime(date or "").timestamp() + 0.5  # the header's seconds are whole
    except ValueError:
        return skipped(f"{url} sends no usable header Date")
    ahead = (before + time.time()) / 2 - there
    found = f"this machine is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} {url}"
    if abs(ahead) > MAX_SKEW_SECONDS:
        return problem(f"{found}: AWS refuses its signatures", REMEDY)
    return warning(found, REMEDY) if abs(ahead) > WARNING_SKEW_SECONDS else ok(found)
