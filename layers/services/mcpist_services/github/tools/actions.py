"""GitHub Actions: workflows, their runs and jobs; and checks, by which all apps say what they think of a commit."""

from typing import Annotated, Any, Literal

from mcpist.render.shows import DONE, DOWNLOADED, shows
from mcpist.tools.declare.call import Call, given, path_template
from mcpist.tools.declare.pasted import from_url
from mcpist.tools.declare.undo import undone_by
from mcpist_services.github.module import (
    ADDRESSES,
    Name,
    Number,
    Owner,
    Query,
    Ref,
    Repo,
    github,
    link_paging,
    repo_path,
)

_run_path = path_template("/repos/{owner}/{repo}/actions/runs/{run}")
RUN = (
    "id",
    "name",
    "status",
    "conclusion",
    "event",
    "head_branch as branch",
    "created_at as created",
    "html_url as url",
)
RUN_DETAILS = shows(*RUN, "run_attempt as attempt", "head_sha as sha", "display_title as title")
WORKFLOWS = shows("id", "name", "path", "state", "created_at as created", "html_url as url", rows="workflows")
JOBS = shows(
    "id",
    "name",
    "status",
    "conclusion",
    "created_at as created",
    "started_at as started",
    "completed_at as completed",
    "html_url as url",
    rows="jobs",
)

ARTIFACTS = shows(
    "id", "name", "size_in_bytes as size_bytes", "expired", "created_at as created", "digest", rows="artifacts"
)

Run = Annotated[Number, from_url(ADDRESSES, "run_id"), "The id that list_runs shows"]
Workflow = Annotated[
    Name,
    from_url(ADDRESSES, "workflow_id"),
    "The id that list_workflows shows, or its file, e.g. deploy.yml",
]
RunStatus = Annotated[
    Literal["queued", "in_progress", "completed", "success", "failure", "cancelled", "timed_out"],
    "A status or a conclusion",
]


@github.lists(WORKFLOWS, "actions/list-repo-workflows")
def list_workflows(owner: Owner, repo: Repo) -> Call:
    """List a repository's workflows of GitHub Actions."""
    return Call("GET", repo_path(owner, repo, "/actions/workflows"))


@github.lists(shows(*RUN, "actor.login as actor", rows="workflow_runs"), "actions/list-workflow-runs-for-repo")
def list_runs(
    owner: Owner,
    repo: Repo,
    branch: Annotated[str | None, "e.g. main"] = None,
    status: RunStatus | None = None,
    event: Annotated[str | None, "What started it, e.g. push"] = None,
    actor: Annotated[str | None, "A login, e.g. octocat"] = None,
    workflow_id: Workflow | None = None,
    created: Annotated[
        Query | None, "A moment, or a range such as >=2026-01-31 or >now-7d, e.g. 2026-01-31T09:00:00Z"
    ] = None,
) -> Call:
    """List the runs of all workflows (CI builds) or of one, the newest first."""
    query = given(branch=branch, status=status, event=event, actor=actor, created=created)
    if workflow_id is None:
        return Call("GET", repo_path(owner, repo, "/actions/runs"), query)
    return Call("GET", repo_path(owner, repo, "/actions/workflows/{workflow}/runs", workflow=workflow_id), query)


@github.reads(RUN_DETAILS, "actions/get-workflow-run")
def get_run(owner: Owner, repo: Repo, run_id: Run) -> Call:
    """Read one run of a workflow: whether it is done and how it ended."""
    return Call("GET", _run_path(owner, repo, run_id))


@github.lists(JOBS, "actions/list-jobs-for-workflow-run")
def list_jobs(owner: Owner, repo: Repo, run_id: Run, filter: Literal["latest", "all"] = "latest") -> Call:  # noqa: A002
    """List the jobs of a run: which failed, which passed."""
    return Call("GET", _run_path(owner, repo, run_id, "/jobs"), {"filter": filter})


@github.reads(DOWNLOADED, "actions/download-job-logs-for-workflow-run")
def get_job_logs(
    owner: Owner,
    repo: Repo,
    job_id: Annotated[Number, from_url(ADDRESSES, "job_id"), "The id that list_jobs shows, e.g. 399444496"],
) -> Call:
    """Download the log of a job as a file, and show its end: why it failed."""
    return Call("GET", repo_path(owner, repo, "/actions/jobs/{job_id}/logs", job_id=job_id), download=True)


@github.writes(DONE, "actions/re-run-workflow", irreversible="what a workflow has done stays done")
def rerun(owner: Owner, repo: Repo, run_id: Run) -> Call:
    """Run a workflow run again."""
    return Call("POST", _run_path(owner, repo, run_id, "/rerun"))


@github.writes(DONE, "actions/re-run-workflow-failed-jobs", irreversible="what a workflow has done stays done")
def rerun_failed_jobs(owner: Owner, repo: Repo, run_id: Run) -> Call:
    """Run the failed jobs of a run again, and those that depend on them."""
    return Call("POST", _run_path(owner, repo, run_id, "/rerun-failed-jobs"))


@github.writes(DONE, "actions/cancel-workflow-run", undo=undone_by("rerun(owner, repo, run_id)", read="get_run"))
def cancel_run(owner: Owner, repo: Repo, run_id: Run) -> Call:
    """Cancel a run that is queued or in progress."""
    return Call("POST", _run_path(owner, repo, run_id, "/cancel"))


@github.lists(ARTIFACTS, "actions/list-workflow-run-artifacts")
def list_artifacts(owner: Owner, repo: Repo, run_id: Run) -> Call:
    """List the artifacts that a run has left."""
    return Call("GET", _run_path(owner, repo, run_id, "/artifacts"))


@github.reads(DOWNLOADED, "actions/download-artifact")
def download_artifact(
    owner: Owner,
    repo: Repo,
    artifact_id: Annotated[Number, from_url(ADDRESSES, "artifact_id"), "The id that list_artifacts shows"],
) -> Call:
    """Download an artifact of a run as a zip file."""
    place = repo_path(owner, repo, "/actions/artifacts/{artifact_id}/zip", artifact_id=artifact_id)
    return Call("GET", place, download=True)


@github.writes(
    shows("workflow_run_id as id", "html_url as url"),
    "actions/create-workflow-dispatch",
    irreversible="what a workflow has done stays done",
)
def dispatch_workflow(
    owner: Owner,
    repo: Repo,
    workflow_id: Workflow,
    ref: Ref,
    inputs: Annotated[dict[str, Any] | None, 'As the workflow declares them, e.g. {"environment": "staging"}'] = None,
) -> Call:
    """Start a workflow by hand; the answer shows its run."""
    place = repo_path(owner, repo, "/actions/workflows/{workflow_id}/dispatches", workflow_id=workflow_id)
    return Call("POST", place, json=given(ref=ref, inputs=inputs, return_run_details=True))


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


STATUSES = shows(
    "context", "state", "combined", "description", "target_url as url", "created_at as created", rows="statuses"
)
COMBINED = link_paging(lambda _, page: {"combined": page["state"]})


@github.lists(STATUSES, "repos/get-combined-status-for-ref", paging=COMBINED)
def list_commit_statuses(owner: Owner, repo: Repo, ref: Ref) -> Call:
    """List the statuses of a commit or branch that other CI systems set, each with the combined state of all.

    GitHub Actions and newer apps report by checks instead: see list_check_runs.
    """
    return Call("GET", repo_path(owner, repo, "/commits/{ref}/status", ref=ref.split("/")))


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
