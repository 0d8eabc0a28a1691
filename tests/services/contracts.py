"""The vendors' own API descriptions as services that answer; they lie beside the repository and are no part of it."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import pytest

from mcpist.errors import InvalidRequest
from mcpist.render.shows import path_keys, value_at
from mcpist.running.send import request_body
from mcpist.tools.declare.call import Call, Lookup, PartialList, ServiceResponse, Work
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.schema import example_of
from mcpist.tools.declare.tool import PAGING_PARAMETERS, Tool
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests.services.descriptions import file_of, folder, load
from tests.services.descriptions.contract import Contract, ContractError
from tests.services.descriptions.transport import ContractTransport

SPECS = folder()
ACCOUNT = "11223344-a1b2-3b33-c444-def123456789"
DESCRIPTIONS = {
    "confluence": ("confluence",),
    "github": ("github",),
    "google_calendar": ("google-calendar",),
    "jira": ("jira",),
    "microsoft_todo": ("msgraph-todo",),
    "notion": ("notion",),
    "slack": ("slack",),
    "supabase": ("supabase", "supabase-postgrest"),
}
CONTRACTED = [name for name in NAMES if name in DESCRIPTIONS]

FILE = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
DOWNLOAD = {"file": {"path": f"files/acme/uma/{FILE}", "sha256": FILE, "size_bytes": 4}, "preview": "text: 1 line"}
"""What is made of every download."""

MISSING = [name for names in DESCRIPTIONS.values() for name in names if not file_of(name).exists()]
# Where a change is judged (`CI` is set), a proof that cannot be made is no proof: these tests fail there by name.
needs_descriptions = pytest.mark.skipif(
    bool(MISSING) and "CI" not in os.environ,
    reason=f"no vendors' API descriptions in {SPECS}: run `make contracts`",
)


class Vendor:
    """One module's services: requests that a description does not allow are refused, the others answered from it.

    `answers/<module>.py` may hold ANSWERS, from an operation to what it answers: a body, or a function of the request;
    MOVED, from the end of a path to the one that a description of older days has for it; `amend`, which brings such a
    description up to date by what the vendor's pages say; `with_next_page`, which adds to a list's first page where the
    next one is, if descriptions do not say it; ORIGINS, from another origin to what it answers; and HOSTS, from another
    origin to the one that the description names.
    """

    def __init__(self, name: str, module: Module | None = None) -> None:
        self.module = module or CATALOGUE.module(name)
        self.host = self.module.host.replace("{account}", ACCOUNT)
        bases = [{"base_url": self.host}, {}]
        told = _told(name)
        amend = getattr(told, "amend", None)
        self.transports = [
            _transport(description, amend, base) for description, base in zip(DESCRIPTIONS[name], bases, strict=False)
        ]
        self.origins: dict[str, Any] = getattr(told, "ORIGINS", {})
        self.hosts: dict[str, str] = getattr(told, "HOSTS", {})
        self.moved: dict[str, str] = getattr(told, "MOVED", {})
        self.with_next_page: Callable[[Call, ServiceResponse], ServiceResponse] = getattr(
            told, "with_next_page", lambda _, response: response
        )
        self.sent: list[Call] = []
        self._home = f"tests/services/answers/{name}.py"
        for operation, answer in getattr(told, "ANSWERS", {}).items():
            self._transport_of(operation).on(operation, answer)

    @property
    def operations(self) -> list[str]:
        """What was asked, in order, description by description."""
        return [operation for transport in self.transports for operation in transport.operations]

    def forget(self) -> None:
        """Begin anew with what was asked."""
        self.sent.clear()
        for transport in self.transports:
            transport.calls.clear()

    def send(self, call: Call) -> ServiceResponse:
        """Answer one Call, as the service with a token would."""
        self.sent.append(call)
        if call.origin in self.origins:
            return ServiceResponse(200, {}, DOWNLOAD if call.download else self.origins[call.origin])
        origin = self.hosts.get(call.origin, call.origin)
        transport = self.transports[1 if origin not in {"", self.host} else 0]
        headers = {"authorization": "Bearer x", **self.module.headers, **call.headers}
        with httpx2.Client(transport=transport, headers=headers) as client:
            path = next(
                (call.path.removesuffix(new) + old for new, old in self.moved.items() if call.path.endswith(new)),
                call.path,
            )
            url = (origin or self.host) + path
            body = {name: value for name, value in request_body(call).items() if value is not None}
            try:
                response = client.request(call.method, url, params=dict(call.query) or None, **body)
            except ContractError as error:
                raise ContractError(f"{error}\n{self._hint}") from None
        if call.download:
            return ServiceResponse(200, {}, DOWNLOAD)
        json = response.text if call.text else response.json() if response.content else None
        return ServiceResponse(response.status_code, dict(response.headers), json)

    def perform(self, tool: Tool, arguments: dict[str, Any]) -> Any:
        """The JSON that a tool brings; of a list its first page, after asking for the second one, if there is one."""
        return self.perform_checked(tool, tool.validate(arguments))

    def perform_checked(self, tool: Tool, arguments: dict[str, Any]) -> Any:
        """The same for arguments that have been validated."""
        work = tool.describe_work(arguments)
        if tool.paging is None:
            return self._all(work)
        assert not isinstance(work, Call | Lookup)
        call = next(work)
        while not _has_rows(tool, answer := self.send(call)):  # it looks up what the list is asked for with
            call = work.send(answer)
        first = self.with_next_page(call, answer)
        with suppress(StopIteration):
            self.send(work.send(first))
        return told(tool, first.json)

    def _transport_of(self, operation: str) -> ContractTransport:
        for transport in self.transports:
            if operation in transport.contract.operations():
                return transport
        names = ", ".join(transport.contract.service for transport in self.transports)
        raise ContractError(f"no operation {operation!r} in the description of {names}\n{self._hint}")

    @property
    def _hint(self) -> str:
        return f"If the vendor's pages say otherwise than its description, add what they say to `amend` in {self._home}"

    def _all(self, work: Work) -> Any:
        assert not isinstance(work, Lookup)
        if isinstance(work, Call):
            return done(self.send(work).json)
        try:
            call = next(work)
            while True:
                call = work.send(self.send(call))
        except StopIteration as end:
            if isinstance(end.value, Call):
                return done(self.send(end.value).json)
            return done(end.value.json if isinstance(end.value, PartialList) else end.value)

    def shows(self, operation: str, path: str) -> bool:
        """Whether the description of an operation's answer knows a path."""
        described = self._transport_of(operation).contract
        _, media = described.answer(described.call_of(operation))
        return media is not None and any(_known(described.schemas, media.get("schema", {}), list(path_keys(path))))


def _transport(description: str, amend: Callable[[Any], None] | None, options: dict[str, Any]) -> ContractTransport:
    """A transport on a description, brought up to date where it is too old."""
    document = load(description)
    if amend is not None:
        amend(document)
    return ContractTransport(Contract(description, document, **options))


def told(tool: Tool, page: Any) -> Any:
    """A page with what the module puts beside its items."""
    extra_columns = tool.paging.extra_columns if tool.paging else None
    if extra_columns is None:
        return page
    items = [{**item, **extra_columns(item, page)} for item in shown(tool, page)]
    return {**page, tool.shows.rows: items} if tool.shows.rows else items


def done(json: Any) -> Any:
    """What a service that answers nothing is taken to have said."""
    return {"done": True} if json is None else json


def uses(tool: Tool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Ways to call a tool: its examples, and with all arguments where these do not exclude each other.

    With all arguments, claims are once as the declaration has them and once the contrary.
    """
    for number, example in enumerate(tool.examples, 1):
        yield f"use {number}", example["parameters"]
    every = all_arguments(tool)
    contrary = every | {name: not value for name, value in every.items() if isinstance(value, bool)}
    for use, arguments in {"all": every, "contrary": contrary}.items():
        if use == "contrary" and contrary == every:
            continue
        with suppress(InvalidRequest):
            tool.describe_work(tool.validate(arguments))
            yield use, arguments


def all_arguments(tool: Tool) -> dict[str, Any]:
    """An example of every argument that is the tool's own."""
    own = {name: spec for name, spec in tool.input_schema["properties"].items() if not _is_paging(tool, name)}
    return {name: example_of(spec) for name, spec in own.items()}


def path_exists(value: Any, keys: list[Any]) -> bool:
    """Whether a path is in an answer; null, and a list without items, may stand for anything."""
    if not keys or value is None:
        return True
    if keys[0] == "*":
        return isinstance(value, list) and all(path_exists(item, keys[1:]) for item in value)
    if isinstance(keys[0], int):
        return isinstance(value, list) and (len(value) <= keys[0] or path_exists(value[keys[0]], keys[1:]))
    return isinstance(value, dict) and keys[0] in value and path_exists(value[keys[0]], keys[1:])


def shown(tool: Tool, raw: Any) -> list[Any]:
    """The items of an answer that a tool's columns are read from."""
    items = value_at(raw, tool.shows.rows) if tool.shows.rows else raw
    return items if isinstance(items, list) else [items]


def _has_rows(tool: Tool, answer: ServiceResponse) -> bool:
    return isinstance(value_at(answer.json, tool.shows.rows) if tool.shows.rows else answer.json, list)


def _is_paging(tool: Tool, name: str) -> bool:
    return tool.paging is not None and name in PAGING_PARAMETERS


def _told(name: str) -> ModuleType | None:
    """What is told of a vendor's answers."""
    there = (Path(__file__).parent / "answers" / f"{name}.py").exists()
    return import_module(f"tests.services.answers.{name}") if there else None


def _known(described: Any, schema: Any, keys: list[Any], depth: int = 0) -> Iterator[bool]:
    """One True for each way in which a schema knows a path; an object without any properties knows every path."""
    schema = described.deref(schema)
    if not keys or depth > 40:
        yield not keys
        return
    for word in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(word, []):
            yield from _known(described, part, keys, depth + 1)
    if keys[0] == "*" or isinstance(keys[0], int):
        if "items" in schema:
            yield from _known(described, schema["items"], keys[1:], depth + 1)
    elif keys[0] in schema.get("properties", {}):
        yield from _known(described, schema["properties"][keys[0]], keys[1:], depth + 1)
    elif isinstance(schema.get("additionalProperties"), dict):
        yield from _known(described, schema["additionalProperties"], keys[1:], depth + 1)
    elif schema.get("additionalProperties") is True or (
        schema.get("type") == "object" and not schema.get("properties")
    ):
        yield True
