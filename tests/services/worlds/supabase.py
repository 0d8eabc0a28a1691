"""Supabase: projects that are paused, branches, functions with their sources, a schema, and rows of tables."""

import re
from collections.abc import Iterator, Mapping
from email.parser import BytesParser
from email.policy import HTTP
from fnmatch import fnmatchcase
from typing import Any

import httpx2

from mcpist.errors import InvalidRequest
from tests.services.answers.supabase import KEYS, ROWS, SOURCES, SOURCES_TYPE
from tests.services.descriptions.contract import DescribedCall
from tests.services.world import Rules, World

FORMER = [{"path": "index.ts", "content": "Deno.serve(() => new Response('設計'))\n"}]
_OPTIONS = {"select", "columns", "on_conflict", "order", "limit", "offset"}
_TESTS: Mapping[str, Any] = {
    "eq": lambda own, value: own == value,
    "neq": lambda own, value: own != value,
    "is": lambda own, value: own == value,
    "in": lambda own, value: own in value.strip("()").split(","),
    "like": fnmatchcase,
    "ilike": lambda own, value: fnmatchcase(own.lower(), value.lower()),
    "gt": lambda own, value: own > value,
    "gte": lambda own, value: own >= value,
    "lt": lambda own, value: own < value,
    "lte": lambda own, value: own <= value,
}


def _text(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _matching(world: World, call: DescribedCall, table: str) -> Iterator[str]:
    """Yield the places of the rows that the filters of a request match."""
    filters = {name: values for name, values in call.query.items() if name not in _OPTIONS}
    for place in [one for one in world.items if re.fullmatch(rf"{re.escape(table)}/[^/]+", one)]:
        row = world.items[place]
        tests = [(name, *value.split(".", 1)) for name, values in filters.items() for value in values]
        if all(name in row and _TESTS[test](_text(row[name]), value) for name, test, value in tests):
            yield place


def _answered(call: DescribedCall, rows: list[Any]) -> Any:
    """Return written rows as the request wants them."""
    if "return=minimal" in call.headers.get("prefer", ""):
        return None
    columns = call.query.get("select", ["*"])[0].split(",")
    return rows if "*" in columns else [{name: row.get(name) for name in columns} for row in rows]


def _select(world: World, call: DescribedCall, table: str) -> Any:
    rows = [world.items[place] for place in _matching(world, call, table)]
    return _answered(call, rows[: int(call.query.get("limit", ["1000"])[0])])


def _insert(world: World, call: DescribedCall, table: str) -> Any:
    rows = []
    for given in call.json if isinstance(call.json, list) else [call.json]:
        place = f"{table}/{1_000 + len(world.made)}"
        world.made.append(place)
        world.items[place] = {"id": 1_000 + len(world.made), "status": "open", **given}
        rows.append(world.items[place])
    return _answered(call, rows)


def _update(world: World, call: DescribedCall, table: str) -> Any:
    return _answered(call, [world.change(place, call.json) for place in _limited(world, call, table)])


def _delete(world: World, call: DescribedCall, table: str) -> Any:
    return _answered(call, [world.items.pop(place) for place in _limited(world, call, table)])


def _limited(world: World, call: DescribedCall, table: str) -> list[str]:
    """Return the rows to write; with a limit, more of them are an error, and nothing is written."""
    places, limit = [*_matching(world, call, table)], re.search(r"max-affected=(\d+)", call.headers.get("prefer", ""))
    if limit and len(places) > int(limit[1]):
        raise InvalidRequest(field="max_affected", problem="more rows match")
    return places


def _new_project(world: World, call: DescribedCall, place: str) -> Any:
    fields = {name: value for name, value in call.json.items() if name != "db_pass"}
    return world.create(place, {**fields, "status": "ACTIVE_HEALTHY"})


def _status(status: str) -> Any:
    def answer(world: World, _: DescribedCall, place: str) -> None:
        world.change(place.rpartition("/")[0], {"status": status})

    return answer


def _new_branch(world: World, call: DescribedCall, place: str) -> Any:
    made = f"{place}/{world.rules.new_id(world, place)}"
    world.made.append(made)
    fields = {"name": call.json["branch_name"], "git_branch": call.json.get("git_branch")}
    world.items[made] = {**world.example(call), **fields, "id": made.rpartition("/")[2]}
    return world.items[made]


def _delete_branch(world: World, call: DescribedCall, _: str) -> Any:
    world.remove(next(place for place in world.items if place.endswith(f"/branches/{call.params['branch_id_or_ref']}")))
    return {"message": "ok"}


def _sources(world: World, _: DescribedCall, place: str) -> Any:
    function = world.items.get(place.removesuffix("/body"))
    if function is None:
        return None
    parts = "".join(
        f'--b1\r\nContent-Disposition: form-data; name="file"; filename="{one["path"]}"\r\n'
        f"Content-Type: text/plain\r\n\r\n{one['content']}\r\n"
        for one in function["files"]
    )
    text = SOURCES if function["files"] == FORMER else f"{parts}--b1--\r\n"
    return httpx2.Response(200, headers={"content-type": SOURCES_TYPE}, text=text)


def _deploy(world: World, call: DescribedCall, place: str) -> Any:
    kind = f"content-type: {call.headers['content-type']}\r\n\r\n".encode()
    parts = [*BytesParser(policy=HTTP).parsebytes(kind + call.body).iter_parts()]
    named = [(part.get_filename(), part.get_payload(decode=True)) for part in parts]
    files = [{"path": path, "content": content.decode()} for path, content in named if path]
    (slug,) = call.query["slug"]
    function = f"{place.removesuffix('/deploy')}/{slug}"
    world.items[function] = {"files": sorted(files, key=lambda one: str(one["path"]))}
    return {**world.example(call), "slug": slug}


def _migrate(world: World, call: DescribedCall, place: str) -> None:
    """Apply a migration; one whose SQL is what another one says to be its inverse takes that one back."""
    schema = f"{place}/schema"
    applied = world.items.setdefault(schema, {"applied": []})["applied"]
    undone = next((one for one in applied if one.get("rollback") == call.json["query"]), None)
    rest = [one for one in applied if one is not undone]
    world.items[schema] = {"applied": rest if undone else [*rest, call.json]}


class Supabase(Rules):
    """Its rules."""

    volatile = frozenset({"created_at", "updated_at", "inserted_at", "ref", "organization_id", "organization_slug"})
    answers = {
        "v1-get-project-api-keys": lambda *_: KEYS,
        "select": _select,
        "insert": _insert,
        "update": _update,
        "delete": _delete,
        "v1-create-a-project": _new_project,
        "v1-pause-a-project": _status("INACTIVE"),
        "v1-restore-a-project": _status("ACTIVE_HEALTHY"),
        "v1-create-a-branch": _new_branch,
        "v1-delete-a-branch": _delete_branch,
        "v1-get-a-function-body": _sources,
        "v1-deploy-a-function": _deploy,
        "v1-apply-a-migration": _migrate,
    }

    def key(self, item: Any) -> str:
        """Return the name of an item's id."""
        return "ref" if "ref" in item else "id"

    def new_id(self, world: World, collection: str) -> str:
        """Return the id of a new branch, or the ref of a new project."""
        number = 1_000 + len(world.made)
        if collection.endswith("/branches"):
            return f"00000000-0000-4000-8000-{number:012}"
        return f"{number:020}".translate({ord("0") + digit: "abcdefghij"[digit] for digit in range(10)})

    def seeded(self, world: World, place: str, item: Any) -> Any:
        """Return a project that runs."""
        return {**item, "status": "ACTIVE_HEALTHY"} if place.startswith("/v1/projects/") else item

    def prepare(self, world: World, tool: str, arguments: Mapping[str, Any]) -> None:
        """Fill the table, deploy the function, or pause the project that a tool is about."""
        project = f"/v1/projects/{arguments.get('project_ref')}"
        if "table" in arguments:
            for row in ROWS:
                world.items[f"/rest/v1/{arguments['table']}/{row['id']}"] = {**row, "total": 10 + row["id"]}
        elif tool == "deploy_function":
            world.items[f"{project}/functions/{arguments['function_slug']}"] = {"files": FORMER}
        elif tool in {"pause_project", "restore_project"}:
            world.item(project)
            world.change(project, {"status": "ACTIVE_HEALTHY" if tool == "pause_project" else "INACTIVE"})
        elif tool == "apply_migration":
            world.items[f"{project}/database/migrations/schema"] = {"applied": []}
