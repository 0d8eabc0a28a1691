"""Tasks over two or more services, each a batch of a line of `*chains.jsonl`, run against the vendors' descriptions.

A task passes if its batch is planned, all its references have a value, and no request breaks a vendor's contract. It is
compact if no reference needs `raw`: what a tool shows is enough for the next one.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from mcpist.batch.execution.plan import plan
from mcpist.batch.language.references import EACH, EachElement, StepResult, find_references, resolve
from mcpist.batch.language.steps import Step, holds
from mcpist.caller import Proof, Role
from mcpist.render.shows import Shows
from mcpist.running.run import add_page_urls
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.call import PartialList, ToolLookup
from mcpist.tools.declare.tool import Tool
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests.core.sample import caller
from tests.services.contracts import Vendor

MAX_ELEMENTS = 2  # of a step with `each`
EVERYTHING = Role("everything", modules=NAMES, allow=("*",), destructive=True)

SITE = "https://acme.atlassian.net"
# Lists whose items have no required field by their descriptions.
LISTS: dict[str, dict[str, Any]] = {
    "confluence": {
        "getSpaces": {"results": [{"id": "65538", "key": "ENG", "name": "Engineering", "homepageId": "65600"}]},
        "createPage": {"id": "98765", "status": "current", "version": {"number": 1}, "_links": {"webui": "/x/98765"}},
        "getPageFooterComments": {"results": [{"id": "131073", "status": "current", "version": {"number": 1}}]},
        "getTasks": {"results": [{"id": "7", "status": "incomplete", "pageId": "98765", "spaceId": "65538"}]},
    },
    "google_calendar": {
        "calendar.events.list": {
            "items": [
                {
                    "id": "7k3f9q0m2a",
                    "summary": "Stand-up",
                    "start": {"dateTime": "2026-01-31T09:00:00+09:00"},
                    "end": {"dateTime": "2026-01-31T09:15:00+09:00"},
                    "status": "confirmed",
                    "htmlLink": "https://www.google.com/calendar/event?eid=N2szZjlxMG0yYQ",
                    "attendees": [{"email": "uma@example.com", "self": True, "responseStatus": "needsAction"}],
                }
            ]
        },
    },
    "microsoft_todo": {
        "me.todo.lists.tasks.List": {"value": [{"id": "AAMk", "title": "Close it", "status": "completed"}]},
    },
}


@cache
def vendor(name: str) -> Vendor:
    """A service that answers by its description."""
    found = Vendor(name)
    for operation, answer in LISTS.get(name, {}).items():
        found.transports[0].on(operation, answer)
    return found


@dataclass(frozen=True)
class Chain:
    """A task and the steps of its batch."""

    task: str
    steps: list[dict[str, Any]]

    @classmethod
    def of(cls, line: str) -> "Chain":
        """Return the chain of a line, whose steps are `[id, module.tool, params, options?]`."""
        content = json.loads(line)
        steps = [
            {"id": id_, "module": name.partition(".")[0], "tool": name.partition(".")[2], "params": params}
            | dict(*options)
            for id_, name, params, *options in content["steps"]
        ]
        return cls(content["task"], steps)

    @property
    def services(self) -> set[str]:
        """The modules whose tools it uses."""
        return {step["module"] for step in self.steps}

    @property
    def is_compact(self) -> bool:
        """Whether every reference names columns; `people` documents its own JSON, where each service has a name."""
        documented = {step["id"] for step in self.steps if step["module"] == "people"} | {EACH}
        references = [one for step in self.steps for one in find_references(step)]
        return all(one.keys[:1] == ("items",) or one.step in documented for one in references)


FILES = ("chains.jsonl", "everyday_chains.jsonl")
CHAINS = [Chain.of(line) for name in FILES for line in (Path(__file__).parent / name).read_text("utf-8").splitlines()]


class ContractedTools:
    """The other tools of a caller, answered by the vendors' descriptions."""

    def may_use(self, module: str, tool: str) -> bool:
        """Whether the description of its service is used here."""
        return module in {"jira", "slack"} and tool in CATALOGUE.module(module).tools

    def read(self, module: str, tool: str, arguments: Mapping[str, Any], seconds: float) -> tuple[Any, Shows]:
        """Return what the service answers."""
        found = CATALOGUE.module(module).tools[tool]
        assert seconds > 0
        return vendor(module).perform(found, dict(arguments)), found.shows


class Run:
    """One run of a batch: its steps in their order, each with the results of those before it."""

    def __init__(self) -> None:
        self.results: dict[str, Any] = {}

    @classmethod
    def of(cls, chain: Chain) -> "Run":
        """Plan a chain and run it; McpistError or AssertionError says why it does not pass."""
        permissions = Permissions(replace(caller(EVERYTHING), proof=Proof("jwt", "j.w.t")), CATALOGUE)
        run = cls()
        for _, step, tool in plan(chain.steps, permissions).steps_by_line:
            run.step(step, tool)
        return run

    def step(self, step: Step, tool: Tool) -> None:
        """Run a step, or each of its elements."""
        if step.when and not holds(step.when, self.results.__getitem__):
            raise AssertionError(f"{step.id}: its condition does not hold")
        if not step.each:
            self.results[step.id] = StepResult(self.perform(tool, step, self.results), tool.shows, dict)
            return
        elements = resolve(step.each, self.results.__getitem__)[:MAX_ELEMENTS]
        assert elements, f"{step.id}: {step.each} is empty"
        raw = [self.perform(tool, step, self.results | {EACH: EachElement(one)}) for one in elements]
        self.results[step.id] = StepResult(raw, tool.shows, dict, [{"status": "succeeded"}] * len(raw))

    def perform(self, tool: Tool, step: Step, known: Mapping[str, Any]) -> Any:
        """Return the JSON of a step's tool."""
        params = resolve(step.params, known.__getitem__)
        assert None not in params.values(), f"{step.id}: {params}"
        arguments = tool.validate(params)
        work = tool.describe_work(arguments) if tool.module == "people" else None
        if isinstance(work, ToolLookup):
            found = work.function(ContractedTools(), float("inf"), **work.arguments)
            assert isinstance(found, PartialList)
            return found.json
        answer = vendor(tool.module).perform_checked(tool, arguments)
        add_page_urls(answer, tool, arguments, SITE)
        return answer
