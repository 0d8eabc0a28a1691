"""Confluence: versions of pages and posts, a trash, comments, labels, restrictions."""

import re
from collections.abc import Mapping
from typing import Any

from tests.services.descriptions.contract import DescribedCall
from tests.services.world import Rules, World

MACRO = '<ac:structured-macro ac:name="toc" ac:schema-version="1" />'
SOURCE = f"{MACRO}<h2>Goals</h2><p>We ship on Friday</p>"
PAGE: dict[str, Any] = {
    "status": "current",
    "title": "Release plan",
    "spaceId": "98306",
    "parentId": "65550",
    "version": {"number": 3},
    "body": {"storage": {"representation": "storage", "value": SOURCE}},
    "_links": {"webui": "/spaces/ENG/pages/65551", "base": "https://acme.atlassian.net/wiki"},
}
COMMENT = {
    "status": "current",
    "version": {"number": 1},
    "body": {"storage": {"representation": "storage", "value": "<p>Really?</p>"}},
    "resolutionStatus": "open",
}


def _stored(body: Any) -> dict[str, Any]:
    """Return a body as it is read, from one as it is written."""
    return {"body": {"storage": {"representation": "storage", "value": body["value"]}}} if body else {}


def _create(world: World, call: DescribedCall, place: str) -> Any:
    known = PAGE if "comments" not in place else COMMENT
    fields = {**known, **call.json, "version": {"number": 1}, **_stored(call.json.get("body"))}
    return world.create(place, fields)


def _update(world: World, call: DescribedCall, place: str) -> Any:
    fields = {**call.json, **_stored(call.json.get("body"))}
    if "resolved" in fields:
        fields["resolutionStatus"] = "resolved" if fields.pop("resolved") else "open"
    _keep(world, place)
    return world.change(place, fields)


def _keep(world: World, place: str) -> None:
    """Keep the present version of a page for restoring."""
    item = world.item(place)
    if item:
        world.items[f"{place}/versions/{item['version']['number']}"] = item


def _trash(world: World, call: DescribedCall, place: str) -> Any:
    world.change(place, {"status": "trashed"})


def _restore(world: World, call: DescribedCall, _: str) -> Any:
    id_, wanted = call.params["id"], call.json["params"]["versionNumber"]
    place = next(one for one in world.items if re.fullmatch(rf"/wiki/api/v2/(pages|blogposts)/{id_}", one))
    _keep(world, place)
    now = world.items[place]["version"]["number"]
    former = world.items.get(f"{place}/versions/{wanted}", {**PAGE, "title": f"Version {wanted}"})
    content = {name: former[name] for name in ("title", "body")}
    world.change(place, {**content, "version": {"number": now + 1}})
    return {"number": now + 1, "version": {"number": now + 1}}


def _copy(world: World, call: DescribedCall, _: str) -> Any:
    return world.create("/wiki/api/v2/pages", {**PAGE, "title": call.json["pageTitle"]})


def _labels(world: World, call: DescribedCall, _: str) -> Any:
    place = f"/wiki/api/v2/pages/{call.params['id']}/labels"
    if call.method == "post":
        for label in call.json:
            if f"{place}/{label['name']}" not in world.items:
                world.create(place, label, label["name"])
    elif call.method == "delete":
        world.remove(f"{place}/{call.params['label']}")
        return None
    return {"results": world.within(place), "start": 0, "limit": 200, "size": 1, "_links": {}}


def _restrictions(world: World, call: DescribedCall, place: str) -> Any:
    item = world.item(place)
    if call.method == "put":
        results = [
            {
                "operation": one["operation"],
                "restrictions": {kind: {"results": held} for kind, held in one["restrictions"].items()},
            }
            for one in call.json
        ]
        item = world.change(place, {"results": sorted(results, key=lambda one: str(one["operation"]))})
    return {"results": item["results"]}


def _attach(world: World, call: DescribedCall, _: str) -> Any:
    name = re.search(rb'filename="(.+?)"', call.body)
    file = {"title": name[1].decode() if name else "", "version": {"number": 1}, "page": call.params["id"]}
    return {"results": [world.create("/wiki/api/v2/attachments", file, f"att{len(world.made)}")]}


def _files(world: World, call: DescribedCall, _: str) -> Any:
    return {"results": world.within("/wiki/api/v2/attachments"), "_links": {}}


class Confluence(Rules):
    """Its rules."""

    volatile = frozenset({"id", "version", "resolved"})
    answers = {
        "createPage": _create,
        "createBlogPost": _create,
        "createFooterComment": _create,
        "createInlineComment": _create,
        "updatePage": _update,
        "updateBlogPost": _update,
        "updateFooterComment": _update,
        "updateInlineComment": _update,
        "deletePage": _trash,
        "deleteBlogPost": _trash,
        "restoreContentVersion": _restore,
        "copyPage": _copy,
        "addLabelsToContent": _labels,
        "removeLabelFromContent": _labels,
        "getPageLabels": _labels,
        "getRestrictions": _restrictions,
        "updateRestrictions": _restrictions,
        "createOrUpdateAttachments": _attach,
        "getPageAttachments": _files,
    }

    def key(self, item: Any) -> str:
        return "name" if "prefix" in item else "id"

    def seeded(self, world: World, place: str, item: Any) -> Any:
        kind, id_ = place.split("/")[-2:]
        if id_ == "restriction":
            everybody = {"user": {"results": []}, "group": {"results": []}}
            one = {"type": "known", "accountId": "712020:70035bdf"}
            reading = {"operation": "read", "restrictions": everybody | {"user": {"results": [one]}}}
            return {"results": [reading, {"operation": "update", "restrictions": everybody}]}
        if kind == "labels":
            return {"name": id_, "prefix": "global"}
        return (COMMENT if "comments" in kind else PAGE) | {"id": id_}

    def prepare(self, world: World, tool: str, arguments: Mapping[str, Any]) -> None:
        if arguments.get("version"):  # which the caller has read
            kind, id_ = ("pages", "page_id") if "page_id" in arguments else ("blogposts", "blog_post_id")
            place = f"/wiki/api/v2/{kind}/{arguments[id_]}"
            world.item(place)
            world.change(place, {"version": {"number": arguments["version"]}})
        if tool == "remove_label":
            world.item(f"/wiki/api/v2/pages/{arguments['page_id']}/labels/{arguments['label']}")

    def compared(self, item: Any) -> Any:
        if isinstance(item, dict) and "operation" in item:  # the first restriction may be of either operation
            people = item["restrictions"]
            return [item["operation"], *(one for kind in people.values() for one in kind["results"])]
        return super().compared(item)
