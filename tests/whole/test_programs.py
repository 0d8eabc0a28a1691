"""Programs as a person uses them: in the room without rights, with files, in batches between services."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpist_services import provider_name
from tests.accounts import connect, disconnect, forget
from tests.services.contracts import needs_descriptions
from tests.whole.conftest import McpUser
from tests.whole.vendors import ACCOUNT, Vendors

EXAMPLES = Path(__file__).parents[2] / "examples/programs"


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip where a program of somebody else is not installed."""
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def answer(user: McpUser, module: str, tool: str, **params: Any) -> dict[str, Any]:
    """The StandardResponse of a program, as a program reads it."""
    options = {"raw_output": True}
    (text, *_) = user.texts("call", module=module, tool=tool, params=params, **options)
    found: dict[str, Any] = json.loads(text)
    return found


def test_their_tools_are_listed_and_found(user: McpUser) -> None:
    (listed,) = user.texts("get_module_schema", modules=["writers"])
    assert (
        "create_episode(episode_number: integer, title, genre, word_count_target: integer) -> outputs, metadata"
        in listed
    )
    assert "quality_check(target_files: [file]" in listed
    (found,) = user.texts("get_module_schema", query="begin the next chapter of my novel")
    assert "writers" in found


def test_the_batch_of_the_writers_chains_two_programs_by_a_file(user: McpUser) -> None:
    commands = (EXAMPLES / "writers.jsonl").read_text("utf-8")
    summary, *blocks = user.texts("batch", commands=commands)
    assert "done, 4 of 4 steps" in summary, (summary, blocks)
    text = "\n".join(blocks)
    assert "False trail" in text
    assert "0 words, and the target is 2000" in text
    assert "the section Hook is empty" in text


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"episode_number": 0, "title": "T", "genre": "mystery", "word_count_target": 2000}, "episode_number"),
        ({"episode_number": 1, "title": "T", "genre": "mystery", "word_count_target": 99}, "word_count_target"),
    ],
)
def test_wrong_arguments_are_named(user: McpUser, params: dict[str, Any], field: str) -> None:
    result = user.call("call", module="writers", tool="create_episode", params=params)
    assert result.is_error
    assert "VALIDATION_ERROR" in str(result)
    assert field in str(result)


def test_a_failing_program_says_why(user: McpUser) -> None:
    params = {"episode_number": 1, "title": "two\nlines", "genre": "mystery", "word_count_target": 200}
    result = user.call("call", module="writers", tool="create_episode", params=params)
    assert result.is_error
    assert "TOOL_EXECUTION_ERROR" in str(result)
    assert "one line each" in str(result)


@needs("jq")
def test_jq_transforms_a_value_and_a_file(user: McpUser) -> None:
    found = answer(user, "jq", "transform", filter="map(.n) | add", input=[{"n": 2}, {"n": 40}])
    assert found["metadata"] == {"result": 42}


@needs("rg")
def test_ripgrep_searches_files_and_takes_no_option_from_a_pattern(user: McpUser) -> None:
    draft = answer(
        user, "writers", "create_episode", episode_number=3, title="Fog", genre="horror", word_count_target=500
    )
    file = draft["outputs"][0]
    found = answer(user, "ripgrep", "search", pattern="^## ", files=[file])
    assert found["metadata"]["preview"].count("files-1.md:") == 5
    nothing = answer(user, "ripgrep", "search", pattern="--pre=sh", files=[file])
    assert nothing["outputs"] == []


@needs("pandoc")
def test_pandoc_converts_a_text_and_a_document(user: McpUser) -> None:
    html = answer(user, "pandoc", "to_text", markdown="# Title\n\n*so*", to="html")
    assert "<em>so</em>" in html["metadata"]["preview"]
    word = answer(user, "pandoc", "to_document", markdown="# Title\n\n*so*", title="T", to="docx")
    (attachment,) = word["metadata"]["attachments"]
    back = answer(user, "pandoc", "to_markdown", document=attachment["sha256"], **{"from": "docx"})
    (text,) = user.texts("call", module="files", tool="read", params={"path": back["outputs"][0]["sha256"]})
    assert "# Title" in text


@pytest.fixture
def connected(user: McpUser, vendors: Vendors) -> Iterator[McpUser]:
    """Uma with accounts of Jira and Confluence."""
    for service in ("jira", "confluence"):
        account = {"account_id": ACCOUNT, "account_name": f"uma@{service}"}
        connect(user.deployment, service, f"{provider_name(service)}-canary-token", **account)
    forget(user.deployment)
    vendors.refused.clear()
    yield user
    for service in ("jira", "confluence"):
        disconnect(user.deployment, service)


@needs_descriptions
@needs("jq")
def test_a_batch_reads_issues_runs_a_program_over_them_and_writes_a_page(connected: McpUser, vendors: Vendors) -> None:
    commands = (EXAMPLES / "jira_report.jsonl").read_text("utf-8")
    summary, *blocks = connected.texts("batch", commands=commands)
    assert "done, 3 of 3 steps" in summary, (summary, blocks, vendors.refused)
    assert not vendors.refused
    page = vendors.asked("confluence")[-1].json
    issue = vendors.asked("jira")[-1]
    assert "statusCategory" in issue.json["jql"]
    assert page["title"] == "Open issues"
    assert "<h1>Open issues</h1>" in page["body"]["value"]
    assert "<li>" in page["body"]["value"]
    assert "canary" not in json.dumps([summary, *blocks])
