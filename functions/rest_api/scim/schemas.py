"""Schemas: the attributes that are kept, and the documents by which a directory discovers what this server does."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
