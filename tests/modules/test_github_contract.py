"""Every tool against GitHub's own API description, which lies beside the repository and is not part of it."""

import importlib.util
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcpist.render.shows import at, steps
from mcpist.tools.call import Answer, Call, Work
from mcpist_modules.github import github

SPECS = Path(__file__).parents[3] / "shared/vendor-specs"

pytestmark = pytest.mark.skipif(
    not (SPECS / "contract.py").exists(), reason=f"the vendors' API descriptions are not in {SPECS}"
)

REPOSITORY = {"owner": "octo", "repo": "app"}
AUTHORIZED = {"authorization": "Bearer x"}
PERIOD = {"since": "2026-01-01T00:00:00Z", "until": "2026-02-01T00:00:00Z"}
LEAST: dict[str, dict[str, Any]] = {
    "get_me": {},
    "list_repos": {},
    "get_repo": REPOSITORY,
    "get_file": REPOSITORY | {"path": "docs/README.md"},
    "list_commits": REPOSITORY,
    "list_issues": REPOSITORY,
    "get_issue": REPOSITORY | {"issue_number": 1},
    "search_issues": {"q": "repo:octo/app is:issue"},
    "list_pulls": REPOSITORY,
    "get_pull": REPOSITORY | {"pull_number": 1},
}
MORE: dict[str, dict[str, Any]] = {
    "list_repos": {
        "visibility": "public",
        "affiliation": ["owner", "organization_member"],
        "sort": "updated",
        "direction": "asc",
        "limit": 500,
    },
    "get_file": {"ref": "feature/x"},
    "list_commits": PERIOD | {"sha": "main", "path": "src/a b.py", "author": "ada@example.com", "limit": 1},
    "list_issues": {
        "state": "all",
        "labels": ["bug", "ui"],
        "assignee": "ada",
        "creator": "uma",
        "milestone": "3",
        "since": PERIOD["since"],
        "sort": "comments",
        "direction": "asc",
        "limit": 100,
    },
    "search_issues": {"sort": "interactions", "order": "asc", "limit": 101},
    "list_pulls": {
        "state": "closed",
        "head": "ada:topic",
        "base": "main",
        "sort": "long-running",
        "direction": "asc",
        "limit": 2,
    },
}


@pytest.fixture(scope="module")
def contract() -> Any:
    """The description as something that answers requests, and refuses those that it does not allow."""
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    spec = importlib.util.spec_from_file_location("contract", SPECS / "contract.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "contract", module)
    spec.loader.exec_module(module)
    monkeypatch.undo()
    transport = module.ContractTransport("github")
    file = transport.contract.reply(transport.contract.check("GET", f"{github.host}/repos/o/r/contents/a", AUTHORIZED))
    return transport.on("repos/get-content", file[1] | {"content": b64encode(b"# Title\n").decode()})


def perform(work: Work, contract: Any) -> Any:
    with httpx.Client(transport=contract, base_url=github.host, headers=github.headers | AUTHORIZED) as client:

        def send(call: Call) -> Answer:
            response = client.request(call.method, call.path, params=call.query, json=call.json, headers=call.headers)
            return Answer(response.status_code, dict(response.headers), response.json())

        if isinstance(work, Call):
            return send(work).json
        call = next(work)
        try:
            while True:
                call = work.send(send(call))
        except StopIteration as end:
            return end.value


def test_every_tool_is_checked() -> None:
    assert set(LEAST) == set(github.tools)
    for name, tool in github.tools.items():
        assert set(LEAST[name]) == set(tool.input_schema.get("required", []))
        assert set(LEAST[name] | MORE.get(name, {})) == set(tool.input_schema["properties"])


@pytest.mark.parametrize("name", github.tools)
@pytest.mark.parametrize("more", [{}, MORE], ids=["least", "all"])
def test_the_request_is_allowed_and_what_is_shown_is_answered(name: str, more: dict[str, Any], contract: Any) -> None:
    tool = github.tools[name]
    answer = perform(tool.describe_work(tool.validate(LEAST[name] | more.get(name, {}))), contract)
    items = at(answer, tool.shows.rows) if tool.shows.rows else answer
    for item in items if isinstance(items, list) else [items]:
        missing = [column.path for column in tool.shows.columns if not leads_somewhere(item, list(steps(column.path)))]
        assert not missing


@pytest.mark.parametrize("name", github.tools)
def test_all_values_of_an_enumeration_are_the_vendors(name: str, contract: Any) -> None:
    tool = github.tools[name]
    for parameter, spec in tool.input_schema["properties"].items():
        for value in spec.get("enum", []):
            perform(tool.describe_work(tool.validate(LEAST[name] | {parameter: value})), contract)


def test_a_request_that_github_does_not_know_is_refused(contract: Any) -> None:
    with pytest.raises(AssertionError, match="unknown"):
        perform(Call("GET", "/repos/octo/app/issues", {"colour": "red"}), contract)


def leads_somewhere(value: Any, keys: list[Any]) -> bool:
    """Whether a path is in the answer; null may stand for anything, and GitHub allows labels that are bare text."""
    if not keys or value is None:
        return True
    if keys[0] == "*":
        return isinstance(value, list) and all(
            isinstance(item, str) or leads_somewhere(item, keys[1:]) for item in value
        )
    return isinstance(value, dict) and keys[0] in value and leads_somewhere(value[keys[0]], keys[1:])
