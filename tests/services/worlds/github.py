"""GitHub: labels and people of issues, branches with their commits, files, reviews."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from zlib import crc32

import httpx2

from tests.services.descriptions.contract import DescribedCall
from tests.services.world import Rules, World

REPO = "/repos/{owner}/{repo}"


def _issue_labels(world: World, call: DescribedCall, place: str) -> Any:
    issue = place.split("/labels")[0]
    present = world.item(issue)["labels"]
    if call.method == "delete":
        labels = [label for label in present if label["name"] != call.params["name"]]
    else:
        names = [label["name"] for label in present]
        repo = issue.split("/issues/")[0]
        added = [world.item(f"{repo}/labels/{name}") for name in call.json["labels"] if name not in names]
        labels = [*present, *added]
    return world.change(issue, {"labels": labels})["labels"]


def _sub_issues(world: World, call: DescribedCall, place: str) -> Any:
    issue = place.removesuffix("/sub_issues").removesuffix("/sub_issue")
    parts = world.item(issue).get("parts", [])
    if call.method == "get":
        return [item for item in world.items.values() if item.get("id") in parts and "labels" in item]
    others = [part for part in parts if part != call.json["sub_issue_id"]]
    return world.change(issue, {"parts": others + [call.json["sub_issue_id"]] * (call.method == "post")})


def _elsewhere(collection: str) -> Any:
    """Return what creates an item in another collection of the repository than the one that is posted to."""

    def create(world: World, call: DescribedCall, _: str) -> Any:
        place = REPO.format(**call.params) + collection
        return world.create(place, {**(call.json or {}), "of": call.params.get("pull_number")})

    return create


def _ref_of(world: World, repo: str, ref: str) -> str | None:
    """Return the place of a branch or a tag; None for a commit."""
    name = "heads/main" if ref in {"HEAD", "main"} else ref
    return f"{repo}/git/refs/{name}" if name.startswith(("heads/", "tags/")) else None


def _get_commit(world: World, call: DescribedCall, _: str) -> Any:
    repo = REPO.format(**call.params)
    sha = call.params["ref"]
    if place := _ref_of(world, repo, sha):
        ref = _ref(world, place)
        if ref is None:
            return None
        sha = ref["object"]["sha"]
    return _commit(world, repo, sha)


def _ref(world: World, place: str) -> Any:
    if place not in world.deleted and place not in world.items:
        world.items[place] = {"object": {"sha": f"{crc32(place.encode()):x}"}}
        world.items[place]["tree"] = f"tree of {world.items[place]['object']['sha']}"
    return world.items.get(place)


def _commit(world: World, repo: str, sha: str) -> Any:
    found = world.items.get(f"{repo}/git/commits/{sha}")
    tree = next(
        (ref["tree"] for ref in world.items.values() if ref.get("object", {}).get("sha") == sha), f"tree of {sha}"
    )
    message = {"message": "Before", "tree": {"sha": tree}}
    return found or {"sha": sha, "commit": message, "parents": [{"sha": "0"}]}


def _make_commit(world: World, call: DescribedCall, _: str) -> Any:
    repo, sha = REPO.format(**call.params), f"c{len(world.items)}"
    parents = [{"sha": one} for one in call.json["parents"]]
    made = {"message": call.json["message"], "tree": {"sha": call.json["tree"]}}
    world.items[f"{repo}/git/commits/{sha}"] = {"sha": sha, "commit": made, "parents": parents, **made}
    return {"sha": sha, **made, "html_url": "https://github.com/o/r/commit/c"}


def _change_ref(world: World, call: DescribedCall, place: str) -> Any:
    commit = _commit(world, REPO.format(**call.params), call.json["sha"])
    _ref(world, place)
    return world.change(place, {"object": {"sha": call.json["sha"]}, "tree": commit["commit"]["tree"]["sha"]})


def _make_ref(world: World, call: DescribedCall, _: str) -> Any:
    place = f"{REPO.format(**call.params)}/git/{call.json['ref']}"
    commit = _commit(world, REPO.format(**call.params), call.json["sha"])
    world.deleted.discard(place)
    world.items[place] = {"object": {"sha": call.json["sha"]}, "tree": commit["commit"]["tree"]["sha"]}
    world.made.append(place)
    return world.items[place]


def _branch(world: World, call: DescribedCall, _: str) -> Any:
    repo = REPO.format(**call.params)
    ref = _ref(world, f"{repo}/git/refs/heads/{call.params['branch']}")
    return {"name": call.params["branch"], "commit": _commit(world, repo, ref["object"]["sha"])}


def _tree(world: World, call: DescribedCall, _: str) -> Any:
    return {"sha": f"tree {len(world.items)}", "tree": []}


def _contents(world: World, call: DescribedCall, place: str) -> Any:
    match call.method:
        case "get":
            return world.item(place)
        case "put":
            if call.json.get("sha") is None and place not in world.deleted:
                return httpx2.Response(422, json={"message": "sha is missing"})
            world.deleted.discard(place)
            sha = f"{crc32(call.json['content'].encode()):x}"
            world.items[place] = FILE | {"content": call.json["content"], "sha": sha, "path": call.params["path"]}
            return {"content": world.items[place], "commit": {"sha": "c"}}
        case _:
            world.remove(place)
            return {"content": None, "commit": {"sha": "c"}}


FILE = {"type": "file", "encoding": "base64", "sha": "3d21ec53a331", "content": b64encode(b"# Hello").decode()}


def _reviewers(world: World, call: DescribedCall, place: str) -> Any:
    pull, fields = place.removesuffix("/requested_reviewers"), {}
    for given, name, key in (
        ("reviewers", "requested_reviewers", "login"),
        ("team_reviewers", "requested_teams", "slug"),
    ):
        others = [one for one in world.item(pull)[name] if one[key] not in call.json.get(given, [])]
        added = (
            [{key: "Ada" if one == "ada" else one} for one in call.json.get(given, [])] if call.method == "post" else []
        )
        fields[name] = others + added
    return world.change(pull, fields)


def _review(world: World, call: DescribedCall, place: str) -> Any:
    return world.create(place, {"state": "PENDING" if "event" not in call.json else "COMMENTED"})


def _review_comments(world: World, call: DescribedCall, _: str) -> Any:
    return [
        one
        for one in world.within(f"{REPO.format(**call.params)}/pulls/comments")
        if one["of"] == call.params["pull_number"]
    ]


def _merge(world: World, call: DescribedCall, place: str) -> Any:
    repo = REPO.format(**call.params)
    base = f"{repo}/git/refs/heads/{world.item(place.removesuffix('/merge'))['base']['ref']}"
    before = _ref(world, base)["object"]["sha"]
    sha = f"m{len(world.items)}"
    made = {"message": "Merge", "tree": {"sha": "merged"}}
    world.items[f"{repo}/git/commits/{sha}"] = {"sha": sha, "commit": made, "parents": [{"sha": before}]}
    world.change(base, {"object": {"sha": sha}, "tree": "merged"})
    return {"sha": sha, "merged": True, "message": "Merged"}


def _make_label(world: World, call: DescribedCall, place: str) -> Any:
    return world.create(place, {"color": "ededed", "description": None, **call.json}, call.json["name"])


def _change_label(world: World, call: DescribedCall, place: str) -> Any:
    fields = dict(call.json)
    new = fields.pop("new_name", call.params["name"])
    label = world.items.pop(place)
    there = place.rsplit("/", 1)[0] + "/" + new
    world.items[there] = {**label, **fields, "name": new}
    return world.items[there]


def _delete_label(world: World, call: DescribedCall, place: str) -> Any:
    world.remove(place)
    for item in world.items.values():
        if "labels" in item:
            item["labels"] = [label for label in item["labels"] if label["name"] != call.params["name"]]


def _issues(world: World, call: DescribedCall, place: str) -> Any:
    wanted = set(filter(None, call.query.get("labels", [""])[0].split(",")))
    return [issue for issue in world.within(place) if wanted <= {label["name"] for label in issue["labels"]}]


def _make_milestone(world: World, call: DescribedCall, place: str) -> Any:
    return world.create(place, {**call.json, "number": 1_000 + len(world.made), "state": "open"})


def _make_repo(world: World, call: DescribedCall, _: str) -> Any:
    fields = dict(call.json or {})
    owner = call.params.get("org") or fields.pop("organization", None) or "octocat"
    name = fields.get("name") or call.params.get("repo")
    named = {"name": name, "owner": {"login": owner}, "full_name": f"{owner}/{name}", "archived": False}
    return world.create(f"/repos/{owner}", {**fields, **named}, name)


def _change_repo(world: World, call: DescribedCall, place: str) -> Any:
    repo = world.change(place, call.json)
    there = f"{place.rsplit('/', 1)[0]}/{repo['name']}"
    world.items[there] = world.items.pop(place)
    return repo


def _items(world: World, call: DescribedCall, place: str) -> Any:
    return world.within(place)


def _change_item(world: World, call: DescribedCall, place: str) -> Any:
    (change,) = call.json["fields"]
    option = {"id": change["value"], "name": {"raw": "Todo"}}
    value = option if change["value"] == "47fc9ee4" else {"raw": change["value"]}
    return world.change(place, {"fields": [{"id": change["id"], "name": "Status", "value": value}]})


def _upload(world: World, call: DescribedCall, place: str) -> Any:
    return world.create(
        f"{REPO.format(**call.params)}/releases/assets",
        {"name": call.query["name"][0], "of": call.params["release_id"]},
    )


def _assets(world: World, call: DescribedCall, _: str) -> Any:
    return [
        one
        for one in world.within(f"{REPO.format(**call.params)}/releases/assets")
        if one.get("of") == call.params["release_id"]
    ]


LABEL = {"name": "ui", "color": "d73a4a", "description": "Looks"}
PERSON = {"login": "octocat"}
ISSUE = {
    "number": 1,
    "title": "Login fails",
    "body": None,
    "state": "open",
    "state_reason": None,
    "labels": [LABEL],
    "assignees": [PERSON],
    "milestone": {"number": 1},
    "comments": 0,
}
PULL = {
    "number": 1,
    "title": "Fix the login",
    "body": "Closes #1",
    "state": "open",
    "base": {"ref": "main"},
    "requested_reviewers": [{"login": "Ada"}],
    "requested_teams": [],
    "comments": 0,
}
PROJECT = {
    "name": "hello-world",
    "full_name": "octocat/hello-world",
    "owner": PERSON,
    "description": None,
    "homepage": "https://example.com",
    "default_branch": "main",
    "archived": False,
    "has_issues": True,
    "has_wiki": False,
    "delete_branch_on_merge": False,
}
RELEASE = {
    "id": 1,
    "tag_name": "v1.2.0",
    "name": "1.2",
    "body": "- Faster",
    "target_commitish": "main",
    "draft": False,
    "prerelease": False,
    "assets": [],
}


class GitHub(Rules):
    """Its rules."""

    volatile = frozenset(
        {
            "id",
            "number",
            "sha",
            "object",
            "parts_url",
            "url",
            "merged",
            "published_at",
            "created_at",
            "author",
            "parents",
            "generate_release_notes",
        }
    )
    examples = {
        "repos/get-content": FILE,
        "issues/get": ISSUE,
        "pulls/get": PULL,
        "repos/get": PROJECT,
        "repos/get-release": RELEASE,
        "issues/get-comment": {"id": 7, "body": "Why?"},
    }
    defaults = {"state_reason": "reopened"}
    fresh = {"milestones": {"open_issues": 0, "closed_issues": 0}}
    answers = {
        "issues/add-labels": _issue_labels,
        "issues/remove-label": _issue_labels,
        "issues/list-for-repo": _issues,
        "issues/list-sub-issues": _sub_issues,
        "issues/add-sub-issue": _sub_issues,
        "issues/remove-sub-issue": _sub_issues,
        "issues/create-comment": _elsewhere("/issues/comments"),
        "issues/create-label": _make_label,
        "issues/create-milestone": _make_milestone,
        "issues/update-label": _change_label,
        "issues/delete-label": _delete_label,
        "pulls/create-reply-for-review-comment": _elsewhere("/pulls/comments"),
        "pulls/list-review-comments": _review_comments,
        "pulls/request-reviewers": _reviewers,
        "pulls/remove-requested-reviewers": _reviewers,
        "pulls/create-review": _review,
        "pulls/merge": _merge,
        "repos/get-commit": _get_commit,
        "repos/get-branch": _branch,
        "git/create-tree": _tree,
        "git/create-commit": _make_commit,
        "git/update-ref": _change_ref,
        "git/create-ref": _make_ref,
        "repos/get-content": _contents,
        "repos/create-or-update-file-contents": _contents,
        "repos/delete-file": _contents,
        "repos/create-for-authenticated-user": _make_repo,
        "repos/create-in-org": _make_repo,
        "repos/create-fork": _make_repo,
        "repos/update": _change_repo,
        "projects/list-items-for-org": _items,
        "projects/list-items-for-user": _items,
        "projects/update-item-for-org": _change_item,
        "projects/update-item-for-user": _change_item,
        "repos/upload-release-asset": _upload,
        "repos/list-release-assets": _assets,
    }

    def key(self, item: Any) -> str:
        return next((name for name in ("number", "color") if name in item), "id").replace("color", "name")

    def stored(self, call: DescribedCall) -> dict[str, Any]:
        fields = super().stored(call)
        for name, key in (("labels", "name"), ("assignees", "login")):
            if name in fields:
                fields[name] = [LABEL if one == "ui" else {key: one} for one in fields[name]]
        if isinstance(fields.get("milestone"), int):
            fields["milestone"] = {"number": fields["milestone"]}
        if isinstance(fields.get("base"), str):
            fields["base"] = {"ref": fields["base"]}
        if isinstance(fields.get("head"), str):
            fields["head"] = {"ref": fields["head"]}
        return fields

    def seeded(self, world: World, place: str, item: Any) -> Any:
        if "/issues/" in place and "comments" not in place:
            repo = place.split("/issues/")[0]
            named = {"id": crc32(place.encode()), "repository_url": f"https://api.github.com{repo}"}
            return {**ISSUE, **item, **named, "labels": [LABEL]}
        if "/labels/" in place:
            return {"name": place.rsplit("/", 1)[1], "color": "d73a4a", "description": None}
        if "/contents/" in place:
            return {**FILE, "path": place.split("/contents/")[1]}
        if "/milestones/" in place:
            return {
                "number": int(place.rsplit("/", 1)[1]),
                "title": "1.1",
                "description": None,
                "state": "open",
                "due_on": "2026-01-01T00:00:00Z",
            }
        if "/releases/" in place:
            return item | {"assets": []}
        if "/items/" in place:
            field = {"id": 7, "name": "Status", "value": {"id": "47fc9ee4", "name": {"raw": "Todo"}}}
            return {"id": int(place.rsplit("/", 1)[1]), "fields": [field]}
        return item

    def prepare(self, world: World, tool: str, arguments: Mapping[str, Any]) -> None:
        repo = REPO.format(owner=arguments.get("owner"), repo=arguments.get("repo"))
        match tool:
            case "put_file" if not arguments["sha"]:
                world.deleted.add(f"{repo}/contents/{arguments['path']}")
            case "update_label" | "delete_label":
                world.item(f"{repo}/labels/{arguments['label']}")
                label = {"name": arguments["label"], "color": "d73a4a", "description": None}
                world.change(f"{repo}/issues/1", {"labels": [LABEL, label]})
            case "update_milestone":
                world.item(f"{repo}/milestones/{arguments['milestone_number']}")
            case "update_project_item":
                project = f"/{arguments['owner_type']}/{arguments['owner']}/projectsV2/{arguments['project_number']}"
                world.item(f"{project}/items/{arguments['item_id']}")
            case "revert_commit":
                place = f"{repo}/git/refs/heads/{arguments['branch']}"
                world.items[place] = {"object": {"sha": arguments["sha"]}, "tree": f"tree of {arguments['sha']}"}
            case "create_branch":
                world.deleted.add(f"{repo}/git/refs/heads/{arguments['branch']}")
            case "create_tag":
                world.deleted.add(f"{repo}/git/refs/tags/{arguments['tag']}")
