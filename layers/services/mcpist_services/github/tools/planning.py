"""Plans for issues: labels, milestones, and the projects of people and organizations."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.errors import NotUndoable
from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.argument_types import UtcMoment
from mcpist.tools.declare.call import Call, changes, given
from mcpist.tools.declare.pasted import from_url
from mcpist.tools.declare.undo import ToolCall, ToolChange, Undo, restores, row_where, undone_by
from mcpist_services.github.module import (
    ADDRESSES,
    Direction,
    Name,
    Number,
    Owner,
    Repo,
    State,
    github,
    repo_path,
)

LABEL = shows("name", "color", "description")
MILESTONE = ("number", "title", "state", "due_on as due", "html_url as url")
MILESTONES = shows(
    *MILESTONE,
    "open_issues",
    "closed_issues",
    "created_at as created",
    "description",
)

Color = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{6}$"), "Six hexadecimal digits, e.g. d73a4a"]
Text = Annotated[str, "In one line, e.g. Something is broken"]
LabelName = Annotated[Name, "As list_labels shows it, e.g. bug"]
MilestoneNumber = Annotated[Number, from_url(ADDRESSES, "milestone"), "The number that list_milestones shows, e.g. 3"]
Due = Annotated[UtcMoment, "e.g. 2026-01-31T09:00:00Z"]


LABEL_FIELDS: dict[str, Any] = {"color": "color", "description": lambda label: label.get("description") or ""}
PLANNED: dict[str, Any] = {
    "title": "title",
    "description": lambda milestone: milestone.get("description") or "",
    "due_on": "due_on",
    "state": "state",
}


@github.writes(
    LABEL,
    "issues/create-label",
    undo=undone_by(
        "delete_label(owner, repo, label=answer.name)",
        read="list_labels",
        select=row_where("name", "answer.name"),
        creates=True,
        fields=LABEL_FIELDS,
    ),
)
def create_label(
    owner: Owner,
    repo: Repo,
    name: Annotated[Name, "e.g. bug"],
    color: Color | None = None,
    description: Text | None = None,
) -> Call:
    """Create a label in a repository."""
    fields = given(name=name, color=color, description=description)
    return Call("POST", repo_path(owner, repo, "/labels"), json=fields)


@github.writes(
    LABEL,
    "issues/update-label",
    idempotent=True,
    uses=({"new_name": "defect"},),
    undo=restores(
        "list_labels",
        select=row_where("name", "answer.name", "arguments.label"),
        renamed={"label": lambda change: (change.answer or {}).get("name") or change.arguments["label"]},
        new_name="name",
        **LABEL_FIELDS,
    ),
)
def update_label(
    owner: Owner,
    repo: Repo,
    label: LabelName,
    new_name: Annotated[Name | None, "e.g. defect"] = None,
    color: Color | None = None,
    description: Text | None = None,
) -> Call:
    """Rename a label of a repository, or change its colour or description."""
    fields = changes(new_name=new_name, color=color, description=description)
    return Call("PATCH", repo_path(owner, repo, "/labels/{label}", label=label), json=fields)


def _of_label(change: ToolChange) -> dict[str, Any]:
    return change.given("owner", "repo") | {"labels": [change.arguments["label"]], "state": "all", "fetch_all": True}


def _label_again(change: ToolChange) -> Iterable[ToolCall]:
    """Return the calls that create a label again, and put it on the issues that had it."""
    wanted = change.arguments["label"].casefold()
    found = [one for issue in change.before for one in issue["labels"] if one["name"].casefold() == wanted]
    if not found:
        raise NotUndoable(tool=change.tool, problem="no issue had the label, so its colour is not known")
    place = change.given("owner", "repo")
    label = {name: found[0][name] for name in ("name", "color", "description") if found[0].get(name)}
    yield ToolCall("create_label", place | label)
    for issue in change.before:
        yield ToolCall("add_labels", place | {"issue_number": issue["number"], "labels": [label["name"]]})


@github.destroys(
    DONE, "issues/delete-label", idempotent=True, undo=Undo(calls=_label_again, read="list_issues", target=_of_label)
)
def delete_label(owner: Owner, repo: Repo, label: LabelName) -> Call:
    """Delete a label of a repository; all issues lose it."""
    return Call("DELETE", repo_path(owner, repo, "/labels/{label}", label=label))


@github.lists(MILESTONES, "issues/list-milestones")
def list_milestones(
    owner: Owner,
    repo: Repo,
    state: State = "open",
    sort: Literal["due_on", "completeness"] = "due_on",
    direction: Direction = "asc",
) -> Call:
    """List a repository's milestones: what is due when, and how much of it is open."""
    return Call("GET", repo_path(owner, repo, "/milestones"), given(state=state, sort=sort, direction=direction))


@github.writes(
    shows(*MILESTONE),
    "issues/create-milestone",
    undo=undone_by(
        'update_milestone(owner, repo, milestone_number=answer.number, state="closed")',
        read='list_milestones(state="all")',
        select=row_where("number", "answer.number"),
        creates=True,
        fields=PLANNED | {"issues": lambda one: one["open_issues"] + one["closed_issues"]},
    ),
)
def create_milestone(
    owner: Owner,
    repo: Repo,
    title: Annotated[Name, "e.g. 1.2"],
    description: Annotated[str | None, "e.g. Faster search"] = None,
    due_on: Due | None = None,
) -> Call:
    """Create a milestone in a repository."""
    fields = given(title=title, description=description, due_on=due_on)
    return Call("POST", repo_path(owner, repo, "/milestones"), json=fields)


@github.writes(
    shows(*MILESTONE),
    "issues/update-milestone",
    idempotent=True,
    uses=({"state": "closed"},),
    undo=restores('list_milestones(state="all")', select=row_where("number", "arguments.milestone_number"), **PLANNED),
)
def update_milestone(
    owner: Owner,
    repo: Repo,
    milestone_number: MilestoneNumber,
    title: Annotated[Name | None, "e.g. 1.2"] = None,
    description: Annotated[str | None, "e.g. Faster search"] = None,
    due_on: Due | None = None,
    state: Literal["open", "closed"] | None = None,
) -> Call:
    """Change a milestone, close it or open it again."""
    fields = changes(title=title, description=description, due_on=due_on, state=state)
    return Call("PATCH", repo_path(owner, repo, "/milestones/{number}", number=milestone_number), json=fields)
