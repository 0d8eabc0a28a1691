"""Alerts about security: code scanning and Dependabot."""

from typing import Annotated, Literal

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, comma_separated, given
from mcpist.tools.declare.pasted import from_url
from mcpist_services.github.module import ADDRESSES, Name, Number, Owner, Repo, github, repo_path

CODE_ALERTS = shows(
    "number",
    "state",
    "rule.security_severity_level|rule.severity as severity",
    "rule.description as description",
    "most_recent_instance.location.path as path",
    "most_recent_instance.location.start_line as line",
    "tool.name as tool",
    "created_at as created",
    "html_url as url",
)
PACKAGE_ALERT = (
    "number",
    "state",
    "security_advisory.severity as severity",
    "security_advisory.summary as summary",
    "dependency.package.name as package",
    "dependency.manifest_path as manifest",
    "security_vulnerability.vulnerable_version_range as vulnerable",
    "security_vulnerability.first_patched_version.identifier as patched",
    "created_at as created",
    "html_url as url",
)

Severity = Literal["low", "medium", "high", "critical"]
AlertNumber = Annotated[Number, from_url(ADDRESSES, "alert_number"), "As its list shows it"]
SCOPES = ("security_events",)


@github.lists(CODE_ALERTS, "code-scanning/list-alerts-for-repo", scopes=SCOPES)
def list_code_scanning_alerts(
    owner: Owner,
    repo: Repo,
    state: Literal["open", "dismissed", "fixed"] | None = "open",
    ref: Annotated[str | None, "A branch, or refs/pull/42/merge; the default branch if left out, e.g. main"] = None,
    tool_name: Annotated[Name | None, "e.g. CodeQL"] = None,
) -> Call:
    """List what code scanning found in a repository, the newest first."""
    query = given(state=state, ref=ref, tool_name=tool_name)
    return Call("GET", repo_path(owner, repo, "/code-scanning/alerts"), query)


@github.lists(shows(*PACKAGE_ALERT), "dependabot/list-alerts-for-repo", scopes=SCOPES)
def list_dependabot_alerts(
    owner: Owner,
    repo: Repo,
    state: Annotated[list[Literal["auto_dismissed", "dismissed", "fixed", "open"]], "Any of these"] = ["open"],  # noqa: B006
    severity: Annotated[list[Severity] | None, "Any of these"] = None,
    ecosystem: Annotated[Name | None, "e.g. npm"] = None,
    package: Annotated[Name | None, "e.g. lodash"] = None,
) -> Call:
    """List the vulnerable packages that a repository depends on, the newest alert first."""
    query = given(
        state=comma_separated(state), severity=comma_separated(severity), ecosystem=ecosystem, package=package
    )
    return Call("GET", repo_path(owner, repo, "/dependabot/alerts"), query)


@github.reads(
    shows(
        *PACKAGE_ALERT,
        "security_advisory.cve_id as cve",
        "security_advisory.description as description",
        text="description",
    ),
    "dependabot/get-alert",
    scopes=SCOPES,
)
def get_dependabot_alert(
    owner: Owner,
    repo: Repo,
    alert_number: AlertNumber,
) -> Call:
    """Read an alert of Dependabot with the text of its advisory."""
    return Call("GET", repo_path(owner, repo, "/dependabot/alerts/{number}", number=alert_number))
