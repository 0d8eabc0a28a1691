"""The console's pages and the REST lists of an organization of a thousand people, each with its bounds.

A change is only tried (`dryRun`), so that each visit finds the same organization.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx2

from benchmarks import large
from benchmarks.console import PAGES, PLENTY, asset_sizes, signed_in, visit
from benchmarks.large import Size
from benchmarks.report import Row, show
from infra.local.demo import ADMINISTRATOR, ORGANIZATION
from infra.local.deployment import DeploymentOptions, operating, run_local_deployment
from mcpist.audit.uses import count_uses
from mcpist.caller import Subject

SIZE = Size(users=1_000, roles=200, apis=20, tools_per_api=250, rows=100_000, files=10_000, batches=2_000)
VISITED = (
    *PAGES,
    "/tools?module=api0",
    "/automations",
    "/approvals",
    "/changes",
    "/policies",
    "/adoption",
    "/directory",
    "/search?q=user09",
    "/workbench?q=list+things",
    "/workbench?add=api0.list_things0",
    "/users?q=user09",
    "/users?sort=-name",
    "/users?id=user0009",
    "/users?new=1",
    "/roles?sort=-users",
    "/roles?id=members&tab=users",
    "/roles?id=members&calls=1",
    "/roles?id=members&module=api0",
    "/modules?id=api0",
    "/batches?of=everybody",
    "/logs?user=uma&outcome=failed",
    "/logs?event=change",
    "/logs?text=nothing+has+it",
    "/v1/users",
    "/v1/users?q=user09",
    "/v1/roles",
    "/v1/organization",
    "/v1/modules",
    "/v1/tools",
    "/v1/tools?module=api0",
    "/v1/files",
    "/v1/files?q=json",
    "/v1/batches",
    "/v1/approvals",
    "/v1/changes",
    "/v1/policies",
    "/v1/events?type=files.stored",
    "/v1/invitations",
    "/v1/audit/adoption",
    "/v1/events/types",
    "/v1/audit",
    "/v1/audit?text=nothing+has+it",
    "/v1/audit?user=uma&outcome=failed",
    "/v1/grants",
)
CHANGES = {"/v1/users/user0009?dryRun=true": {"name": "Ida"}, "/v1/roles/role009?dryRun=true": {"modules": ["rag"]}}
VISITS = 5
SINCE_JANITOR = timedelta(minutes=30)
"""The time since the janitor's last run, which comes every hour."""
BOUND = "50 ms, 60.0 KB, 300 ms"


def measure() -> list[str]:
    """Print the CPU, the size and the first byte of each answer, and return those beyond the bounds."""
    what = f"{SIZE.users:,} users, {SIZE.roles} roles, {SIZE.apis * SIZE.tools_per_api:,} imported tools, "
    what += f"{SIZE.rows:,} rows of the audit, {SIZE.files:,} files and {SIZE.batches:,} batches"
    return show(_rows(), "large", f", with {what}: CPU of the function, bytes as sent, first byte; medians, warm")


def _rows() -> Iterator[Row]:
    with run_local_deployment(DeploymentOptions(parameters=PLENTY)) as deployment, signed_in(deployment) as web:
        assets = sum(asset_sizes(web))
        with operating(deployment.aws, SEALS_TABLE=deployment.aws.resource("Seals")):
            large.grow(ORGANIZATION, Subject(deployment.login.issuer, ADMINISTRATOR.sub), SIZE)
            count_uses(ORGANIZATION, datetime.now(UTC) - SINCE_JANITOR)
        bearer = {"authorization": f"Bearer {deployment.token(ADMINISTRATOR)}", "accept": "application/json"}
        asked = [web.build_request("GET", path, headers=bearer if path.startswith("/v1/") else {}) for path in VISITED]
        asked += [web.build_request("PATCH", path, json=body, headers=bearer) for path, body in CHANGES.items()]
        for request in asked:
            seen = visit(deployment, web, request, VISITS)
            size = (seen.size + (0 if request.url.path.startswith("/v1/") else assets)) / 1000
            cells = f"{seen.milliseconds:.0f} ms, {size:.1f} KB, {seen.seconds * 1000:.0f} ms"
            yield _name(request), cells if seen.answers else "no answer, 999 KB, 999 ms", BOUND


def _name(request: httpx2.Request) -> str:
    return f"`{request.method} {request.url.raw_path.decode()}`"
