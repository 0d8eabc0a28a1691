"""Checks: what CI and other apps say about a commit."""

from typing import Annotated, Literal

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, given
from mcpist_services.github.module import Owner, Ref, Repo, github, repo_path

CHECK_RUNS = shows(
    "id",
    "name",
    "app.slug as app",
    "status",
    "conclusion",
    "output.title as title",
    "started_at as started",
    "completed_at as completed",
    "html_url as url",
    rows="check_runs",
)


@github.lists(CHECK_RUNS, "checks/list-for-ref")
def list_check_runs(
    owner: Owner,
    repo: Repo,
    ref: Ref,
    check_name: Annotated[str | None, "Only those of this name, e.g. test (3.13)"] = None,
    status: Literal["queued", "in_progress", "completed"] | None = None,
) -> Call:
    """List the checks of a commit or branch: which failed. Of GitHub Actions an id is that of get_job_logs."""
    place = repo_path(owner, repo, "/commits/{ref}/check-runs", ref=ref.split("/"))
    return Call("GET", place, given(check_name=check_name, status=status))
