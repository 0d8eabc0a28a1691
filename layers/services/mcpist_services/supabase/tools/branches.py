"""Branches of a project."""

from typing import Annotated

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, given, path
from mcpist.tools.declare.pasted import from_url
from mcpist.tools.declare.undo import row_where, undone_by
from mcpist_services.supabase.module import ADDRESSES, Name, ProjectRef, project_path, supabase

BRANCHES = shows(
    "id",
    "name",
    "project_ref",
    "git_branch",
    "status",
    "is_default",
    "persistent",
    "created_at as created",
    "updated_at as updated",
)

STARTED = shows("message", "workflow_run_id")

UpTo = Annotated[Name | None, "Only up to this version of list_migrations; all if left out, e.g. 20260131093000"]
BranchRef = Annotated[
    str,
    Field(pattern=r"^([a-z]{20}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$"),
    from_url(ADDRESSES, "project_ref__branch_id_or_ref"),
    "The branch's own project_ref, as list_branches shows it, e.g. bcdefghijklmnopqrstu",
]


@supabase.reads(BRANCHES, "v1-list-all-branches")
def list_branches(project_ref: ProjectRef) -> Call:
    """List a project's branches: separate databases to try changes in."""
    return Call("GET", project_path(project_ref, "/branches"))


@supabase.writes(
    shows("id", "project_ref", "status"),
    "v1-create-a-branch",
    undo=undone_by(
        "delete_branch(branch_id_or_ref=answer.id)",
        read="list_branches(project_ref)",
        select=row_where("id", "answer.id"),
        creates=True,
        fields="name git_branch",
    ),
    costs="it is billed while it exists",
)
def create_branch(
    project_ref: ProjectRef,
    branch_name: Annotated[Name, "e.g. try-new-index"],
    git_branch: Annotated[Name | None, "The branch in Git that it follows, e.g. feature/index"] = None,
    region: Annotated[Name | None, "The project's own if left out, e.g. eu-central-1"] = None,
    persistent: Annotated[bool, "Kept when its pull request is closed"] = False,
    with_data: Annotated[bool, "With a copy of the project's rows, not only its schema"] = False,
) -> Call:
    """Create a branch: a separate database, which is billed while it exists."""
    fields = given(branch_name=branch_name, git_branch=git_branch, region=region)
    fields |= {"persistent": persistent, "with_data": with_data}
    return Call("POST", project_path(project_ref, "/branches"), json=fields)


@supabase.destroys(STARTED, "v1-merge-a-branch", irreversible="migrations that have run are in the production database")
def merge_branch(branch_id_or_ref: BranchRef, migration_version: UpTo = None) -> Call:
    """Merge a branch into production: its migrations and Edge Functions."""
    body = given(migration_version=migration_version)
    return Call("POST", path("/v1/branches/{branch}/merge", branch=branch_id_or_ref), json=body)


@supabase.destroys(STARTED, "v1-reset-a-branch", irreversible="the rows that were written to the branch are lost")
def reset_branch(branch_id_or_ref: BranchRef, migration_version: UpTo = None) -> Call:
    """Reset a branch to its migrations; all rows that were written to it are lost."""
    body = given(migration_version=migration_version)
    return Call("POST", path("/v1/branches/{branch}/reset", branch=branch_id_or_ref), json=body)


@supabase.destroys(shows("message"), "v1-delete-a-branch", irreversible="the branch is deleted with its database")
def delete_branch(
    branch_id_or_ref: BranchRef,
    force: Annotated[bool, "Delete it at once; false keeps it restorable for an hour, where that is enabled"] = True,
) -> Call:
    """Delete a branch with its database."""
    return Call("DELETE", path("/v1/branches/{branch}", branch=branch_id_or_ref), {"force": force})
