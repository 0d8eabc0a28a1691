"""The trial of an import: its tools run on the API's mock, each alone and in chains as people use them."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from infra.cli.mock_api import MockApi
from mcpist.errors import McpistError
from mcpist.render.shows import ANY_COLUMN, Row, path_keys, project
from mcpist.running.send import request_body
from mcpist.tools.declare.call import Call, PartialList, ServiceResponse
from mcpist_services.described.description import Description
from mcpist_services.described.identifiers import identifier, usual_id
from mcpist_services.described.module import DescribedTool, module
from mcpist_services.described.overlay import ImportTrial, Overlay
from mcpist_services.described.paths import path_parameters, skeleton, split
from mcpist_services.described.samples import sample

# Kept in overlays and counted there: with a new wording each is imported anew.
NO_ID = "its answer has an id and shows none"
NO_DATA = "its answer has data and shows none"
SECRET = "its answer shows a secret"  # noqa: S105 - a problem
CANARY = "canary-of-a-secret"
MARK = 987_654_321
"""An id that nothing else in an answer equals."""

_ROLES = ("create", "list", "get", "update", "delete")
# Written apart from the rules that mask: with those the trial would find only what is masked anyway.
_SECRET_NAME = re.compile(
    r"(secret|passw(or)?d|(auth|access|refresh|bearer)[_-]?token|(api|private|access)[_-]?key)$", re.IGNORECASE
)


def figures(trial: ImportTrial) -> dict[str, int]:
    """Return how many chains of an API's tools pass on its mock, and how many tools show too little or too much."""
    problems = list(trial.problems.values())
    kinds = {"without_id": NO_ID, "without_data": NO_DATA, "secrets": SECRET}
    counts = {name: problems.count(problem) for name, problem in kinds.items()}
    return trial.model_dump(include={"chains", "passed", "untried"}) | counts


class _Failed(Exception):  # a signal within the trial, not an error of ours
    """A tool that did not do what its chain needs; its text says why."""


def try_out(description: Description, overlay: Overlay) -> ImportTrial:
    """Return the figures and the problems of an import on its mock."""
    return _Trials(description, overlay).result()


class _Trials:
    def __init__(self, description: Description, overlay: Overlay) -> None:
        self._module = module(overlay, loopback=True)
        self._tools = {name: tool for name, tool in self._module.tools.items() if isinstance(tool, DescribedTool)}
        self._operations = {one.key: one for one in description.operations}
        self._mock = MockApi(description, overlay.security)
        self._identifiers = self._mock.collections.identifiers
        self._problems: dict[str, str] = {}

    def result(self) -> ImportTrial:
        for tool in self._tools.values():
            if tool.rule.operation in self._operations and (problem := self._problem(tool)):
                self._problems[tool.name] = problem
        self._mock.begin_strictly()
        chains = list(self._chains())
        tried = [chain for chain in chains if self._gives_id(chain)]
        passed = sum(self._passes(chain) for chain in tried)
        untried = len(chains) - len(tried)
        return ImportTrial(chains=len(tried), passed=passed, untried=untried, problems=self._problems)

    def _problem(self, tool: DescribedTool) -> str:
        """Return the problem of a tool's answer; empty where there is none."""
        try:
            raw = self._run(tool, {})
        except _Failed as failed:
            return str(failed)
        place = self._mock.collections.place(self._operations[tool.rule.operation], raw)
        if place:
            place.write([str(MARK)])
        shown = tool.masked(raw)
        if not tool.reveals and CANARY in json.dumps(shown):
            return SECRET
        values = [*_scalars(project(shown, tool.shows))]
        if [*_scalars(raw)] and not values:
            return NO_DATA
        return NO_ID if place and not {MARK, str(MARK)} & {*values} else ""

    def _chains(self) -> Iterator[dict[str, list[DescribedTool]]]:
        """Yield the tools of each collection by what they do; those that give an id and those that need one."""
        found: dict[str, dict[str, list[DescribedTool]]] = defaultdict(lambda: defaultdict(list))
        for tool in self._tools.values():
            operation = self._operations.get(tool.rule.operation)
            if operation is None or not self._identifiers.parameter(operation):
                continue
            collection, parameter = split(operation.path)
            by_method = {"GET": "get" if parameter else "list", "DELETE": "delete"}
            role = by_method.get(operation.method, "update" if parameter else "create")
            found[skeleton(collection)][role].append(tool)
        for chain in found.values():
            gives, needs = chain.keys() & {"create", "list"}, chain.keys() & {"get", "update"}
            if gives and (needs or ("delete" in chain and "create" in chain)):
                yield chain

    def _gives_id(self, chain: Mapping[str, list[DescribedTool]]) -> bool:
        """Whether by the description an answer has the id that the other tools need."""
        operations = [
            self._operations[tool.rule.operation] for role in ("create", "list") for tool in chain.get(role, ())
        ]
        return any(self._mock.collections.place(one, self._mock.sample(one)[1]) for one in operations)

    def _passes(self, chain: Mapping[str, list[DescribedTool]]) -> bool:
        known = _Known(tool for tools in chain.values() for tool in tools)
        last = None
        try:
            for role in _ROLES:
                for last in chain.get(role, ())[:1] if role == "delete" else chain.get(role, ()):
                    self._step(role, last, known)
            if "delete" in chain and "get" in chain:
                self._expect_gone(chain["get"][0], known)
        except _Failed as failed:
            if last:
                self._problems.setdefault(last.name, f"in a chain: {failed}")
            return False
        return True

    def _step(self, role: str, tool: DescribedTool, known: "_Known") -> None:
        operation = self._operations[tool.rule.operation]
        if role not in {"create", "list"}:
            self._run(tool, known.arguments(tool, with_item=True))
            return
        raw = self._run(tool, known.arguments(tool, with_item=False))
        shown = [*filter(None, (self._shown_id(tool, row) for row in project(tool.masked(raw), tool.shows)))]
        if not shown and self._mock.collections.place(operation, raw):
            raise _Failed(NO_ID)
        if known.item and shown and role == "list" and known.item not in shown:
            raise _Failed("it does not list what was created")
        if shown and not known.item:
            known.item = shown[0]

    def _expect_gone(self, tool: DescribedTool, known: "_Known") -> None:
        try:
            self._run(tool, known.arguments(tool, with_item=True))
        except _Failed:
            return
        raise _Failed("what was deleted is still there")

    def _shown_id(self, tool: DescribedTool, row: Row) -> str:
        """Return the id that a model reads in a row, by the names of the columns; empty where it finds none."""
        operation = self._operations[tool.rule.operation]
        collection, parameter = split(operation.path)[0], self._identifiers.parameter(operation)
        by_depth = sorted(tool.shows.columns, key=lambda one: -one.paths[0].count("."))
        columns = {str([*path_keys(one.paths[0])][-1]): one.name for one in by_depth}
        names = {name: name for name in row} if ANY_COLUMN in columns else columns
        given = {key: name for key, name in names.items() if isinstance(row.get(name), str | int)}
        found = identifier(parameter, collection, given) or usual_id(given)
        return str(row[given[found]]) if found else ""

    def _run(self, tool: DescribedTool, known: Mapping[str, Any]) -> Any:
        """Return the JSON of a tool that is called with what it requires."""
        rules = tool.rule.parameters
        needed = {name: sample(one.spec, tool.definitions) for name, one in rules.items() if one.required}
        try:
            work = tool.describe_work(tool.validate(needed | dict(known) | ({"limit": 1} if tool.paging else {})))
            if isinstance(work, Call):
                return self._send(work).json
            call = next(work)  # type: ignore[arg-type]  # an imported tool sends Calls alone
            while True:
                call = work.send(self._send(call))  # type: ignore[union-attr]
        except StopIteration as end:
            return end.value.json if isinstance(end.value, PartialList) else end.value
        except McpistError as error:
            raise _Failed(f"its call fails: {error}"[:200]) from None

    def _send(self, call: Call) -> ServiceResponse:
        placed = self._module.credential
        query = urlencode({**call.query, **placed.query("key")}, doseq=True)
        headers = {name.lower(): value for name, value in {**call.headers, **placed.headers("key")}.items()}
        body = _body_of(call)
        status, answer = self._mock.answer(call.method, f"{self._mock.base}{call.path}?{query}", headers, body)
        if status >= 400:
            raise _Failed(f"the mock answers {status} {answer['message']}"[:200])
        if call.download:  # as the gate keeps it
            answer = {"file": {"path": "files/example"}, "preview": "example"}
        return ServiceResponse(status, {}, _planted(answer))


def _body_of(call: Call) -> bytes:
    sent = request_body(call)
    if "content" in sent:
        return bytes(sent["content"])
    if call.form:
        return urlencode(call.form).encode()
    return b"" if call.json is None else json.dumps(call.json).encode()


class _Known:
    """The values of a chain's paths: those before the item, by their place, and the item's id."""

    def __init__(self, tools: Iterable[DescribedTool]) -> None:
        self.item = ""
        self._before: dict[int, Any] = {}
        for tool in tools:
            for place, name in _path_parameters(tool):
                value = sample(tool.rule.parameters[name].spec, tool.definitions)
                self._before[place] = max(value, self._before.get(place, value), key=lambda one: len(str(one)))

    def arguments(self, tool: DescribedTool, *, with_item: bool) -> dict[str, Any]:
        """Return the arguments for the parameters of a tool's path."""
        if with_item and not self.item:
            raise _Failed("no tool shows the id that it needs")
        found = {name: self._before[place] for place, name in _path_parameters(tool)}
        return found | ({next(reversed(found)): self.item} if with_item else {})


def _path_parameters(tool: DescribedTool) -> Iterator[tuple[int, str]]:
    """Yield the parameters of a tool's path, each with its place in it."""
    names = {one.wire or name: name for name, one in tool.rule.parameters.items() if one.place == "path"}
    for place, part in enumerate(tool.rule.path.split("/")):
        yield from ((place, names[wire]) for wire in path_parameters(part))


def _planted(answer: Any, key: str = "") -> Any:
    """Return an answer with a canary for each secret that its fields' names say."""
    if isinstance(answer, dict):
        return {name: _planted(one, str(name)) for name, one in answer.items()}
    if isinstance(answer, list):
        return [_planted(one, key) for one in answer]
    return CANARY if isinstance(answer, str) and _SECRET_NAME.search(key) else answer


def _scalars(value: Any) -> Iterator[Any]:
    """Yield the texts, numbers and booleans of a value, but no empty text."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _scalars(one)
    elif value is not None and value != "":
        yield value
