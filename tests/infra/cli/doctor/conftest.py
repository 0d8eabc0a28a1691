"""A deployment whose parts a test replaces, and its findings."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.cli.doctor.command import Findings
from infra.cli.doctor.deployment import CheckFinding, Deployment, RequiredNames
from infra.cli.upstream import DEPLOYED_FILE
from infra.local.login import LocalLogin
from infra.local.template import read_template
from tests.conftest import PUBLIC_URL, TEMPLATE
from tests.core.loopback import Service, serving

type Made = Callable[..., Deployment]


@pytest.fixture
def made(login: LocalLogin) -> Made:
    """Builds a deployment at `url`, with these parameters added to the usual ones."""

    def build(
        url: str = PUBLIC_URL,
        *,
        embedded: bool = True,
        variables: Any = (),
        upstreams: Path = DEPLOYED_FILE,
        **parameters: str,
    ) -> Deployment:
        usual = read_template(TEMPLATE, {"Issuer": login.issuer, "PublicUrl": url, "ConnectClientId": "connect"})
        return Deployment(
            "mcpist",
            "UPDATE_COMPLETE",
            embedded=embedded,
            url=url,
            parameters=RequiredNames(dict(usual.intrinsics.parameters) | parameters),
            resources=RequiredNames(Api="a1b2c3"),
            environment=lambda _: dict(variables),
            upstreams=upstreams,
        )

    return build


@pytest.fixture
def service() -> Iterator[Service]:
    """A server whose responses a test sets."""
    with serving() as service:
        yield service


def states(found: Findings) -> list[str]:
    return [finding.state for finding in ([found] if isinstance(found, CheckFinding) else found)]


def only(found: Findings) -> CheckFinding:
    """Return the only finding; unless it is ok or skipped, it must have a remedy."""
    (finding,) = [found] if isinstance(found, CheckFinding) else found
    assert bool(finding.remedy) == (finding.state in {"warning", "problem"})
    return finding
