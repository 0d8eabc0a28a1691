"""The routes: users, groups and the discovery documents, each for the organization whose token comes with a request."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from mcpist.caller import ClientInfo
from mcpist.errors import AlreadyExists, InvalidRequest, McpistError, MethodNotAllowed, RouteNotFound
from mcpist.http.front import Exchange, error_headers, limited
from mcpist.http.request import HttpRequest, HttpResponse
from mcpist.people import edits, provisioning
from mcpist.people.administration import Administration, NoAccounts
from mcpist.people.organization import Organization
from mcpist.people.provisioning import SCIM_PATH
from mcpist.running.broker import end_expired_accounts
from mcpist.strict_json import load_json
from rest_api.scim import filters, patch
from rest_api.scim.resources import (
    MAX_PAGE_RESOURCES,
    MESSAGES,
    Resource,
    attributes_of,
    discovery,
    read,
    show_group,
    show_user,
)

MAX_SCIM_BYTES = 1_000_000
DEFAULT_PAGE_RESOURCES = 100
# By our errors' fields; any other is about a value.
_PROBLEMS = {"filter": "invalidFilter", "path": "invalidPath"} | dict.fromkeys(
    ("body", "op", "operations"), "invalidSyntax"
)
type Change = Callable[[Resource], Mapping[str, Any]]
"""Makes the next resource of the present one."""


@dataclass(frozen=True, slots=True)
class Provisioning:
    """One request of a company's directory about one kind of resource."""

    request: HttpRequest
    work: Administration
    query: Mapping[str, str]
    """The parameters, which a search has in its body."""
    kind: str = ""

    @property
    def base(self) -> str:
        """The address of the directory's endpoints."""
        return f"{self.request.public_url}{SCIM_PATH}"

    def body(self) -> dict[str, Any]:
        """Return the JSON object that was sent."""
        try:
            content = load_json(self.request.body(MAX_SCIM_BYTES).decode())
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            raise InvalidRequest(field="body", problem="it is not a JSON object in UTF-8")
        return content

    def search(self) -> HttpResponse:
        """Answer with a page of the resources that pass the filter."""
        start = max(1, self._number("startIndex", 1))
        count = min(max(0, self._number("count", DEFAULT_PAGE_RESOURCES)), MAX_PAGE_RESOURCES)
        _, organization = self.work.read()
        kinds = [self.kind] if self.kind else ["User", "Group"]
        found: Iterable[Resource] = (one for kind in kinds for one in self._all(kind, organization))
        if text := self.query.get("filter", ""):
            wanted = filters.parse(text, attributes_of(*kinds))
            found = (one for one in found if filters.passes(wanted, one))
        matching = list(found)
        return _listed([self._selected(one) for one in matching[start - 1 : start - 1 + count]], len(matching), start)

    def show(self, id_: str) -> HttpResponse:
        """Answer with a resource."""
        _, organization = self.work.read()
        return _respond(200, self._selected(self._find(organization, id_)))

    def put(self, id_: str, change: Change, *, new: bool = False) -> HttpResponse:
        """Make or change a resource, and answer with it."""

        def told(before: Organization) -> Resource:
            return read(self.kind, change({} if new else self._find(before, id_)))

        edit = provisioning.put_user if self.kind == "User" else provisioning.put_group
        action, target = f"directory.put_{self.kind.lower()}", f"directory.{self.kind.lower()}s.{id_}"
        after = self.work.change(action, target, edit(id_, told)).change.after
        found = self._find(after, id_)
        if found.get("active") is False:  # each time: what was interrupted is repeated
            provisioning.end_access(after.id, provisioning.find_user(after, id_).subject)
        headers = {"location": found["meta"]["location"]} if new else {}
        return _respond(201 if new else 200, self._selected(found), headers)

    def delete(self, id_: str) -> HttpResponse:
        """Remove a group; or end a membership, and with it the person's accounts."""
        action, target = f"directory.delete_{self.kind.lower()}", f"directory.{self.kind.lower()}s.{id_}"
        if self.kind == "Group":
            self.work.change(action, target, provisioning.remove_group(id_))
            return _respond(204, None)
        user = provisioning.find_user(self.work.read()[1], id_)
        after = self.work.change(action, target, provisioning.release_user(id_)).change.after
        provisioning.end_access(after.id, user.subject)
        if end_expired_accounts(after.id):
            self.work.change(action, target, edits.remove_user(user.id))
        return _respond(204, None)

    def _find(self, organization: Organization, id_: str) -> Resource:
        if self.kind == "User":
            return show_user(organization, provisioning.find_user(organization, id_), self.base)
        return show_group(organization, provisioning.find_group(organization, id_), self.base)

    def _all(self, kind: str, organization: Organization) -> Iterable[Resource]:
        if kind == "User":
            users = provisioning.managed_users(organization).values()
            return (show_user(organization, user, self.base) for user in users)
        return (show_group(organization, group, self.base) for group in organization.groups.values())

    def _selected(self, resource: Resource) -> Resource:
        """Return a resource with the attributes that the request names, or without those that it excludes."""
        wanted, excluded = (_names(self.query.get(name, "")) for name in ("attributes", "excludedAttributes"))
        always = {"schemas", "id", "meta"}
        shown = {name for name in resource if name.lower() not in excluded and (not wanted or name.lower() in wanted)}
        return {name: value for name, value in resource.items() if name in always | shown}

    def _number(self, name: str, default: int) -> int:
        try:
            return int(self.query.get(name, "")[:10] or default)
        except ValueError:
            raise InvalidRequest(field=name, problem="it is no number") from None


def respond(request: HttpRequest, arrived: Exchange) -> HttpResponse:
    """Return the response to a request of a company's directory."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    caller = provisioning.identify(token.strip() if scheme.lower() == "bearer" else "")
    client = ClientInfo.described(request.headers.get("user-agent", ""))
    caller = replace(caller, client=client, locale=request.locale())
    with limited(caller, arrived.request_id):
        work = Administration(caller, arrived.request_id, NoAccounts())
        endpoint, _, id_ = request.path.removeprefix(f"{SCIM_PATH}/").rstrip("/").partition("/")
        kind = endpoint[:-1] if endpoint in {"Users", "Groups"} else ""
        asked = Provisioning(request, work, request.query, kind)
        if request.method == "POST" and (id_ or endpoint) == ".search" and (kind or not id_):
            sent = asked.body().items()
            query = {name: ",".join(map(str, value)) if isinstance(value, list) else str(value) for name, value in sent}
            return replace(asked, query=query).search()
        return _route(asked, id_) if kind else _discover(request, discovery(asked.base).get(endpoint), id_)


def refuse(request: HttpRequest, error: McpistError) -> HttpResponse:
    """Return an error in SCIM's shape."""
    text = error.text(request.locale())
    body: dict[str, Any] = {"schemas": [f"{MESSAGES}:Error"], "status": str(error.status)}
    if isinstance(error, AlreadyExists) or (isinstance(error, InvalidRequest) and error.status == 400):
        known = "uniqueness" if isinstance(error, AlreadyExists) else "invalidValue"
        body["scimType"] = _PROBLEMS.get(str(error.details.get("field", "")), known)
    return _respond(error.status, body | {"detail": f"{text.message} {text.hint}"}, error_headers(request, error))


def _route(asked: Provisioning, id_: str) -> HttpResponse:
    match asked.request.method:
        case "GET":
            return asked.show(id_) if id_ else asked.search()
        case "POST" if not id_:
            sent = asked.body()
            return asked.put(str(uuid4()), lambda _: sent, new=True)
        case "PUT" if id_:
            sent = asked.body()
            # A user of whom it is not said whether they are active stays as they are.
            return asked.put(id_, lambda present: {name: present[name] for name in present.keys() & {"active"}} | sent)
        case "PATCH" if id_:
            sent = asked.body()
            return asked.put(id_, lambda present: patch.apply(asked.kind, present, sent))
        case "DELETE" if id_:
            return asked.delete(id_)
    allowed = "GET, PUT, PATCH, DELETE" if id_ else "GET, POST"
    raise MethodNotAllowed(method=asked.request.method, path=asked.request.path, allowed=allowed)


def _discover(request: HttpRequest, found: Resource | list[Resource] | None, id_: str) -> HttpResponse:
    """Answer with a document that says what this server does."""
    if isinstance(found, list) and id_:
        found = next((one for one in found if one["id"] == id_), None)
    if found is None:
        raise RouteNotFound(method=request.method, path=request.path)
    if request.method != "GET":
        raise MethodNotAllowed(method=request.method, path=request.path, allowed="GET")
    return _listed(found, len(found), 1) if isinstance(found, list) else _respond(200, found)


def _listed(shown: list[Resource], total: int, start: int) -> HttpResponse:
    counts = {"totalResults": total, "startIndex": start, "itemsPerPage": len(shown)}
    return _respond(200, {"schemas": [f"{MESSAGES}:ListResponse"], **counts, "Resources": shown})


def _respond(status: int, body: Any, headers: Mapping[str, str] | None = None) -> HttpResponse:
    content = "" if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return {
        "statusCode": status,
        "headers": {"content-type": "application/scim+json", **(headers or {})},
        "body": content,
    }


def _names(text: str) -> set[str]:
    """Return the attributes that a list names, each without its schema and its part."""
    return {name.strip().rpartition(":")[2].partition(".")[0].lower() for name in text.split(",") if name.strip()}
