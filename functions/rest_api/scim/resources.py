"""Resources: the attributes that are kept, what a directory sends and is answered, and how it discovers both."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.people.company import Group
from mcpist.people.organization import Organization, User

CORE = "urn:ietf:params:scim:schemas:core:2.0"
MESSAGES = "urn:ietf:params:scim:api:messages:2.0"
MAX_PAGE_RESOURCES = 200
type Resource = dict[str, Any]
type Attributes = Sequence[Mapping[str, Any]]

_DEFAULTS = {"type": "string", "multiValued": False, "required": False, "caseExact": False, "mutability": "readWrite"}
_DEFAULTS |= {"returned": "default", "uniqueness": "none"}


def _described(declared: Mapping[str, Any]) -> list[Resource]:
    """Return attributes with their defaults."""
    described = [{"name": name, "description": name, **_DEFAULTS, **given} for name, given in declared.items()]
    parts = ({"subAttributes": _described(one["subAttributes"])} if "subAttributes" in one else {} for one in described)
    return [one | own for one, own in zip(described, parts, strict=True)]


SCHEMAS = {
    kind: _described(declared)
    for kind, declared in tomllib.loads(Path(__file__).with_name("attributes.toml").read_text("utf-8")).items()
}
_COMMON = _described({"externalId": {"caseExact": True}, "id": {"caseExact": True, "mutability": "readOnly"}})


def attributes_of(*kinds: str) -> Attributes:
    """Return the attributes of kinds of resources, with those that every resource has."""
    return [*(one for kind in kinds for one in SCHEMAS[kind]), *_COMMON]


def find_attribute(name: str, attributes: Attributes) -> Mapping[str, Any] | None:
    """Return the attribute with a name in any case."""
    return next((one for one in attributes if one["name"].lower() == name.lower()), None)


def discovery(base: str) -> dict[str, Resource | list[Resource]]:
    """Return the documents by their endpoints; of a list each has an address of its own, too."""
    unsupported = {name: {"supported": False} for name in ("changePassword", "sort", "etag")}
    scheme = {"type": "oauthbearertoken", "name": "Bearer token", "description": "Made by an administrator"}
    config: Resource = {
        **unsupported,
        "patch": {"supported": True},
        "bulk": {"supported": False, "maxOperations": 0, "maxPayloadSize": 0},
        "filter": {"supported": True, "maxResults": MAX_PAGE_RESOURCES},
        "authenticationSchemes": [scheme],
    }

    def document(kind: str, id_: str = "", **more: Any) -> Resource:
        place = f"{base}/{kind}{'' if kind == 'ServiceProviderConfig' else 's'}{id_ and f'/{id_}'}"
        own = {"id": id_} if id_ else {}
        return {"schemas": [f"{CORE}:{kind}"], **own, **more, "meta": {"resourceType": kind, "location": place}}

    return {
        "ServiceProviderConfig": document("ServiceProviderConfig", **config),
        "ResourceTypes": [
            document("ResourceType", kind, name=kind, endpoint=f"/{kind}s", schema=f"{CORE}:{kind}") for kind in SCHEMAS
        ],
        "Schemas": [
            document("Schema", f"{CORE}:{kind}", name=kind, description=kind, attributes=attributes)
            for kind, attributes in SCHEMAS.items()
        ],
    }


MAX_ATTRIBUTE_CHARACTERS = 256
MAX_VALUES = 20_000
# Entra sends texts for booleans.
_BOOLEANS = {"true": True, "false": False}


def read(kind: str, sent: Mapping[str, Any]) -> Resource:
    """Return the attributes of a resource that are kept, by their own names; InvalidRequest names a wrong one.

    The others are ignored: both vendors send attributes that we do not have.
    """
    found = _read_parts(attributes_of(kind), sent)
    for attribute in attributes_of(kind):
        if attribute["required"] and attribute["name"] not in {*found, "active"}:
            raise InvalidRequest(field=attribute["name"], problem="it is missing")
    return found


def read_value(attribute: Mapping[str, Any], value: Any) -> Any:
    """Return the value of an attribute; None for one that is unassigned."""
    if not attribute["multiValued"]:
        return _read_one(attribute, value)
    values = value if isinstance(value, list) else [] if value is None else [value]
    # A member may be named by its id alone.
    sent = [one if isinstance(one, Mapping) else {"value": one} for one in values[: MAX_VALUES + 1]]
    read = [one for one in (_read_one(attribute, one) for one in sent) if one]
    if len(values) > MAX_VALUES or any("value" not in one for one in read):
        problem = f"it has at most {MAX_VALUES} values, each of which has a `value`"
        raise InvalidRequest(field=attribute["name"], problem=problem)
    return list({one["value"]: one for one in read}.values()) or None


def _read_parts(attributes: Attributes, sent: Mapping[str, Any]) -> Resource:
    by_name = {str(name).lower(): value for name, value in sent.items()}
    known = [one for one in attributes if one["mutability"] != "readOnly" and one["name"].lower() in by_name]
    found = {one["name"]: read_value(one, by_name[one["name"].lower()]) for one in known}
    return {name: value for name, value in found.items() if value is not None}


def _read_one(attribute: Mapping[str, Any], value: Any) -> Any:
    if value is None or value == "":
        return None
    if attribute["type"] == "boolean" and isinstance(value, str):
        value = _BOOLEANS.get(value.lower())
    match attribute["type"], value:
        case "complex", Mapping():
            return _read_parts(attribute["subAttributes"], value) or None
        case "boolean", bool():
            return value
        case "string" | "reference", str() if len(value) <= MAX_ATTRIBUTE_CHARACTERS:
            return value
    problem = f"its type is {attribute['type']}, and a text has at most {MAX_ATTRIBUTE_CHARACTERS} characters"
    raise InvalidRequest(field=attribute["name"], problem=problem)


def show_user(organization: Organization, user: User, base: str) -> Resource:
    """Return a user as its directory sees it."""
    groups = [organization.groups[group] for group in user.groups]
    links = [{**_link("Group", group.id, base), "display": group.name} for group in groups]
    return _resource("User", base, {**user.scim, "active": not user.deactivated_at, "groups": links})


def show_group(organization: Organization, group: Group, base: str) -> Resource:
    """Return a group as its directory sees it."""
    members = [_link("User", user.scim["id"], base) for user in organization.members_of(group.id)]
    external = {"externalId": group.external_id} if group.external_id else {}
    return _resource("Group", base, {"id": group.id, **external, "displayName": group.name, "members": members})


def _resource(kind: str, base: str, own: Resource) -> Resource:
    meta = {"resourceType": kind, "location": _link(kind, own["id"], base)["$ref"]}
    return {"schemas": [f"{CORE}:{kind}"], **own, "meta": meta}


def _link(kind: str, id_: str, base: str) -> Resource:
    return {"value": id_, "$ref": f"{base}/{kind}s/{id_}"}
