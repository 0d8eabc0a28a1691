"""A description as the judge of requests and answers."""

import copy
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.services.descriptions import parameters
from tests.services.descriptions.schemas import ANSWERS, REQUESTS, Schemas

METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
JSON_TYPE = re.compile(r"^application/(\w[\w.+-]*\+)?json\b")
# Words of descriptions' hosts that stand for any.
OPEN_HOSTS = {"your-domain": r"[\w-]+", "project-ref": r"[\w-]+"}
SENT_BY_CLIENTS = {"accept", "content-type", "authorization"}


class ContractError(AssertionError):
    """A request, or an answer stated by a test, that the vendor's description does not allow."""


@dataclass
class DescribedCall:
    """A request, as the operation that it is in the description."""

    operation: str
    method: str
    path: str
    params: dict[str, str] = field(default_factory=dict)
    query: dict[str, list[str]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    json: Any = None
    spec: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Route:
    """An operation, and the paths that are its."""

    method: str
    path: str
    pattern: re.Pattern[str]
    names: list[str]
    spec: dict[str, Any]

    @property
    def operation(self) -> str:
        """The operation's id."""
        return str(self.spec.get("operationId") or f"{self.method.upper()} {self.path}")


class Contract:
    """A description: `check` refuses what it does not allow, `reply` answers as it says."""

    def __init__(self, service: str, document: dict[str, Any], *, base_url: str | None = None) -> None:
        self.service = service
        self.schemas = Schemas(document)
        self.doc: dict[str, Any] = self.schemas.documents[REQUESTS]
        self.base = urlsplit(base_url or document["servers"][0]["url"])
        host = re.escape(self.base.netloc)
        for word, pattern in OPEN_HOSTS.items():
            host = host.replace(re.escape(word), pattern)
        self.host = re.compile(host + r"\Z")
        # Literal paths come before those with variables.
        self.routes = sorted(self._routes(), key=lambda route: (route.path.count("{"), -len(route.path)))
        self._replies: dict[tuple[str, int | None], tuple[int, Any]] = {}

    def _routes(self) -> Iterator[Route]:
        for path, item in self.doc["paths"].items():
            for method in METHODS:
                if method not in item:
                    continue
                answers = self.schemas.documents[ANSWERS]["paths"][path][method]["responses"]
                spec = {**item[method], "parameters": self._parameters(item, item[method]), "responses": answers}
                # GitHub marks a parameter that may hold slashes.
                wide = {one["name"] for one in spec["parameters"] if one.get("x-multi-segment")}
                names = re.findall(r"\{(.+?)\}", path)
                parts = [re.escape(part) for part in re.split(r"\{.+?\}", path)]
                holes = ["(.+)" if name in wide else "([^/]+)" for name in names] + [""]
                pattern = "".join(part + hole for part, hole in zip(parts, holes, strict=True))
                yield Route(method, path, re.compile(pattern + r"\Z"), names, spec)

    def operations(self) -> dict[str, str]:
        """Return `METHOD /path` of each operation, by its id."""
        return {route.operation: f"{route.method.upper()} {route.path}" for route in self.routes}

    def call_of(self, operation: str) -> DescribedCall:
        """Return an operation as a call without arguments."""
        route = next(route for route in self.routes if route.operation == operation)
        return DescribedCall(operation, route.method, route.path, spec=route.spec)

    def _parameters(self, item: Mapping[str, Any], operation: Mapping[str, Any]) -> list[dict[str, Any]]:
        both = [*item.get("parameters", []), *operation.get("parameters", [])]
        named = {(one["name"], one["in"]): one for one in map(self.schemas.deref, both)}
        return list(named.values())

    # -- requests -------------------------------------------------------------------------------------

    def check(self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> DescribedCall:
        """Return a request as a call; ContractError names every violation."""
        parts, prefix = urlsplit(url), self.base.path.rstrip("/")
        if not self.host.match(parts.netloc):
            raise ContractError(f"{self.service}: host {parts.netloc!r} is not {self.base.netloc!r}")
        if not parts.path.startswith(prefix + "/"):
            raise ContractError(f"{self.service}: path {parts.path!r} is not under {prefix!r}")
        route, params = self._find(method.lower(), parts.path[len(prefix) :])
        lower = {name.lower(): value for name, value in headers.items()}
        call = DescribedCall(route.operation, route.method, route.path, params, {}, lower, body, None, route.spec)
        if bad := [*self._check_parameters(call, parts.query), *self._check_security(call), *self._check_body(call)]:
            listed = "\n  - ".join(bad)
            raise ContractError(f"{self.service}: {call.operation} ({method.upper()} {route.path}):\n  - {listed}")
        return call

    def _find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        hits = [(route, match) for route in self.routes if (match := route.pattern.match(path))]
        if not hits:
            raise ContractError(f"{self.service}: no operation has the path {path!r}")
        for route, match in hits:
            if route.method == method:
                return route, dict(zip(route.names, map(unquote, match.groups()), strict=True))
        first = hits[0][0].path
        there = sorted({route.method for route, _ in hits if route.path == first})
        raise ContractError(f"{self.service}: {method.upper()} is not allowed on {first} (there is: {there})")

    def _check_parameters(self, call: DescribedCall, query: str) -> Iterator[str]:
        for name, value in parse_qsl(query, keep_blank_values=True):
            call.query.setdefault(name, []).append(value)
        known: set[str] = set()
        for parameter in call.spec["parameters"]:
            name, place = parameter["name"], parameter["in"]
            if place == "header" and name.lower() in SENT_BY_CLIENTS:
                continue
            values, names = parameters.sent(self.schemas, parameter, call.params, call.query, call.headers)
            known |= names
            if error := parameters.error(self.schemas, parameter, values):
                yield f"{place} parameter {name!r} {error}"
        free = call.spec.get("x-free-query-pattern")
        for name, given in call.query.items():
            if name not in known and not (free and all(re.match(free, value) for value in given)):
                yield f"query parameter {name!r} = {given!r} is unknown (known: {', '.join(sorted(known)) or 'none'})"

    def _check_security(self, call: DescribedCall) -> list[str]:
        needs = call.spec.get("security", self.doc.get("security"))
        if not needs or any(all(self._has_credential(call, name) for name in way) for way in needs):
            return []
        return [f"no credentials of the kinds {sorted({name for way in needs for name in way})} are sent"]

    def _has_credential(self, call: DescribedCall, name: str) -> bool:
        scheme = self.doc.get("components", {}).get("securitySchemes", {}).get(name, {})
        if scheme.get("type") == "apiKey":
            place, key = scheme["in"], scheme["name"]
            return key.lower() in call.headers if place == "header" else key in call.query
        kind = scheme.get("scheme", "bearer").lower() if scheme.get("type") == "http" else "bearer"
        return call.headers.get("authorization", "").lower().startswith(f"{kind} ")

    def _check_body(self, call: DescribedCall) -> list[str]:
        described = self.schemas.deref(call.spec.get("requestBody"))
        if not call.body:
            return ["a body is required"] if described and described.get("required") else []
        if not described:
            return ["the operation takes no body, and one is sent"]
        sent = call.headers.get("content-type", "").split(";")[0].strip()
        media = next((one for name, one in described["content"].items() if sent and _fits(name, sent)), None)
        if media is None:
            return [f"content type {sent or '(none)'!r} is not one of {list(described['content'])}"]
        if not JSON_TYPE.match(sent):
            return []
        try:
            call.json = json.loads(call.body)
        except ValueError as error:
            return [f"the body is not JSON: {error}"]
        schema = media.get("schema", {})
        wrong = self.schemas.errors(schema, call.json, writing=True) or self.schemas.unknown([schema], call.json)
        return [f"body{one}" for one in wrong]

    # -- answers --------------------------------------------------------------------------------------

    def reply(self, call: DescribedCall, status: int | None = None) -> tuple[int, Any]:
        """Return a status and a body: the description's example, else one made of its schema."""
        key = call.operation, status
        if key not in self._replies:
            self._replies[key] = self._reply(call, status)
        return copy.deepcopy(self._replies[key])

    def _reply(self, call: DescribedCall, status: int | None) -> tuple[int, Any]:
        code, media = self.answer(call, status)
        if media is None:
            return code, None
        schema = media.get("schema", {})
        for value in self._examples(media):
            if value is not None and not self.schemas.errors(schema, value):
                return code, value  # an example that breaks the vendor's own schema is passed over
        return code, self.schemas.example(schema)

    def _examples(self, media: Mapping[str, Any]) -> Iterator[Any]:
        named = media.get("examples") or {}
        many = [self.schemas.deref(one).get("value") for one in named.values()]
        for value in [media["example"]] if "example" in media else many:
            if not isinstance(value, str):
                yield value
                continue
            try:
                yield json.loads(value)  # Atlassian writes its examples as text
            except ValueError:
                continue

    def check_reply(self, call: DescribedCall, status: int, body: Any) -> None:
        """Refuse an answer that the vendor does not describe; descriptions rarely list every error."""
        known = {str(status), f"{status // 100}XX", "default"} & set(call.spec["responses"])
        if not known and status < 400:
            raise ContractError(f"{self.service}: {call.operation} has no answer {status}")
        _, media = self.answer(call, status)
        if media is None:
            return
        schema = media.get("schema", {})
        wrong = self.schemas.errors(schema, body) if body is not None else []
        if wrong := wrong or self.schemas.unknown([schema], body):
            listed = "\n  - body".join(wrong)
            raise ContractError(f"{self.service}: {call.operation} does not answer {status} so:\n  - body{listed}")

    def answer(self, call: DescribedCall, status: int | None = None) -> tuple[int, Any]:
        """Return the status of an answer, the best if none is given, and its JSON media type."""
        responses = call.spec["responses"]
        best = [key for digit in "23" for key in sorted(responses) if key.startswith(digit)]
        wanted = best if status is None else [str(status), f"{status // 100}XX"]
        key = next((one for one in (*wanted, "default") if one in responses), "")
        content = self.schemas.deref(responses.get(key) or {}).get("content", {})
        code = status or (int(key) if key.isdigit() else 200)
        return code, next((media for kind, media in content.items() if JSON_TYPE.match(kind)), None)


def _fits(described: str, sent: str) -> bool:
    pattern = re.escape(described.split(";")[0]).replace(r"\*", ".*")
    return re.match(pattern + r"\Z", sent) is not None
