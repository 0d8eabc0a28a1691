"""Restrictions of pages, and differences between their versions."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, given, path_template
from mcpist.tools.declare.undo import ToolCall, ToolChange, Undo
from mcpist_services.confluence.module import PageId, confluence, page_path
from mcpist_services.confluence.presentation import with_markdown

_restriction_path = path_template("/wiki/rest/api/content/{page_id}/restriction")
RESTRICTIONS = shows("operation", "kind", "id", "name")
READING = ("read:content-details:confluence",)
WRITING = ("read:content-details:confluence", "write:confluence-content")

People = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=128)]],
    "Account ids; [] for everybody, e.g. 5b10ac8d82e05b22cc7d4ef5",
]
Groups = Annotated[list[Annotated[str, Field(min_length=1)]], "Ids of groups, e.g. 2b0e2f3c-7d7f-4a4c-9c2d"]
Version = Annotated[int, Field(ge=1), "A number that list_versions shows"]


@confluence.reads(RESTRICTIONS, "getRestrictions", scopes=READING)
def list_restrictions(page_id: PageId) -> Calls:
    """List who alone may see (read) or change (update) a page; without a row everybody may who sees its space."""
    found = (yield Call("GET", _restriction_path(page_id))).json["results"]
    return [entry for one in found for entry in _entries(one)]


def _restricted(rows: Any, change: ToolChange) -> dict[str, Any]:
    """Return the people and groups that the operation of a change is restricted to."""
    own = [one for one in rows if one["operation"] == change.arguments["operation"]]
    ids = {kind: sorted(one["id"] for one in own if one["kind"] == kind) for kind in ("user", "group")}
    return {"account_ids": ids["user"], "group_ids": ids["group"]}


def _set(change: ToolChange) -> dict[str, Any]:
    return {name: sorted(change.arguments[name] or []) for name in ("account_ids", "group_ids")}


def _former(change: ToolChange) -> Iterable[ToolCall]:
    return [ToolCall("set_restriction", change.given("page_id", "operation") | _restricted(change.before, change))]


@confluence.writes(
    RESTRICTIONS,
    "updateRestrictions",
    scopes=WRITING,
    idempotent=True,
    undo=Undo(calls=_former, read="list_restrictions", state=_restricted, after=_set),
)
def set_restriction(
    page_id: PageId,
    operation: Literal["read", "update"],
    account_ids: People,
    group_ids: Groups | None = None,
) -> Calls:
    """Let only these people and groups see (read) or change (update) a page; include yourself."""
    # A request replaces all restrictions: those of the other operation are sent again.
    other = "update" if operation == "read" else "read"
    current = (yield Call("GET", _restriction_path(page_id))).json["results"]
    kept = [_written(other, list(_entries(one))) for one in current if one["operation"] == other]
    people = [{"kind": "user", "id": account} for account in account_ids]
    new = _written(operation, [*people, *({"kind": "group", "id": group} for group in group_ids or [])])
    answer = yield Call("PUT", _restriction_path(page_id), json=[*kept, new])
    return [entry for one in answer.json["results"] for entry in _entries(one)]


@confluence.reads(shows("from", "to", "diff", text="diff"), "getPageById", uses=({}, {"to_version": 2}))
def compare_versions(
    page_id: PageId,
    from_version: Version,
    to_version: Annotated[Version | None, "The newest if left out, e.g. 4"] = None,
) -> Calls:
    """Show what changed between two versions of a page, as a diff of their Markdown."""
    pages: list[Mapping[str, Any]] = []
    for version in (from_version, to_version):
        query = given(**{"body-format": "storage", "version": version})
        pages.append(with_markdown((yield Call("GET", page_path(page_id), query)).json))
    old, new = ([f"{line}\n" for line in page["markdown"].split("\n")] for page in pages)
    names = [f"version {page['version']['number']}: {page['title']}" for page in pages]
    diff = "".join(unified_diff(old, new, names[0], names[1]))
    numbers = {"from": pages[0]["version"]["number"], "to": pages[1]["version"]["number"]}
    return numbers | {"diff": f"```diff\n{diff}```" if diff else "No difference in the text."}


def _entries(restriction: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for each person and group that an operation is restricted to."""
    for kind, column in (("user", "accountId"), ("group", "id")):
        for one in (restriction["restrictions"].get(kind) or {}).get("results", []):
            name = one.get("displayName") or one.get("name")
            yield {"operation": restriction["operation"], "kind": kind, "id": one.get(column), "name": name}


def _written(operation: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a restriction as Confluence takes it; without an entry the operation is open to everybody."""
    users = [{"type": "known", "accountId": each["id"]} for each in entries if each["kind"] == "user"]
    groups = [{"type": "group", "id": each["id"]} for each in entries if each["kind"] == "group"]
    return {"operation": operation, "restrictions": {"user": users, "group": groups}}
