"""Descriptions that a vendor splits into several files, joined: each keeps what it refers to under a key of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcpist_services.definitions import refuse
from mcpist_services.described.references import METHODS

JOINED_FILES = "x-mcpist-joined"  # where a joined description keeps the other files


def joined(roots: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return one document of several, by the names of their files, all in the shape of OpenAPI 3.

    Title, description and server are the first one's. InvalidRequest where two of them state one operation, or two
    ways to authenticate under one name.
    """
    (first, root), *others = roots.items()
    stated_in = dict.fromkeys(_operations(root), first)
    ids = {stated.get("operationId") for stated in _operations(root).values()}
    for number, (name, other) in enumerate(others):
        place = f"#/{JOINED_FILES}/{number}"
        moved: dict[str, Any] = _moved(other, place)
        root.setdefault(JOINED_FILES, []).append(moved)
        _merge_schemes(root, moved, name)
        for (path, method), stated in _operations(moved).items():
            if (earlier := stated_in.setdefault((path, method), name)) != name:
                raise refuse(name, f"{method.upper()} {path} is an operation of {earlier} as well")
            if stated.get("operationId") in ids:  # each file has its own
                stated["operationId"] = None
            ids.add(stated.get("operationId"))
            inherited = {key: moved[key] for key in ("security", "servers") if key in moved}
            shared = {"parameters": [*moved["paths"][path].get("parameters", ()), *stated.get("parameters", ())]}
            root["paths"].setdefault(path, {})[method] = inherited | stated | shared
        root.setdefault("webhooks", {}).update(moved.get("webhooks") or {})
    return root


def _operations(root: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (path, method): item[method]
        for path, item in root["paths"].items()
        if isinstance(item, dict)
        for method in METHODS
        if isinstance(item.get(method), dict)
    }


def _merge_schemes(root: dict[str, Any], moved: Mapping[str, Any], name: str) -> None:
    schemes = root.setdefault("components", {}).setdefault("securitySchemes", {})
    for scheme, stated in ((moved.get("components") or {}).get("securitySchemes") or {}).items():
        if _kind(schemes.setdefault(scheme, stated)) != _kind(stated):
            raise refuse(name, f"its security scheme {scheme} is another than that of the files before it")
        for flow, more in (stated.get("flows") or {}).items():
            schemes[scheme].setdefault("flows", {}).setdefault(flow, more).setdefault("scopes", {}).update(
                more.get("scopes") or {}
            )


def _kind(scheme: Mapping[str, Any]) -> Sequence[Any]:
    """Return the parts by which schemes differ; the scopes of one are others in each file."""
    stated = (scheme.get("flows") or {}).items()
    flows = {flow: (one.get("authorizationUrl"), one.get("tokenUrl")) for flow, one in stated}
    return [*(scheme.get(key) for key in ("type", "scheme", "in", "name")), flows]


def _moved(node: Any, place: str) -> Any:
    """Return a document whose references lead to where it is kept."""
    if isinstance(node, list):
        return [_moved(one, place) for one in node]
    if not isinstance(node, dict):
        return node
    found = {key: _moved(one, place) for key, one in node.items()}
    if isinstance(reference := node.get("$ref"), str) and reference.startswith("#/"):
        found["$ref"] = place + reference.removeprefix("#")
    return found
