"""The tools as a caller runs them: with an audit trail, through the store of the caller's organization."""

from dataclasses import replace
from typing import Any

import pytest

from mcpist.caller import Caller, Role
from mcpist.errors import FileNotFound, InvalidRequest
from mcpist.render.answer import compact
from mcpist.running.run import ToolResult, run_tool
from mcpist.tools.access.role_rules import role_permits
from mcpist_services.rag.tools import rag
from tests.audit_items import audit_items
from tests.core.sample import caller

UMA: Caller = caller(Role("members"))


@pytest.fixture(autouse=True)
def bucket(aws: list[str]) -> list[str]:
    """The template's own bucket."""
    return aws


def brought(tool: str, by: Caller = UMA, **arguments: Any) -> ToolResult:
    return run_tool(by, rag, rag.tools[tool], arguments, request="r1")


def read(tool: str, **arguments: Any) -> str:
    """What the model reads."""
    return compact(brought(tool, **arguments).json, rag.tools[tool].shows)


def test_a_document_is_written_read_and_removed_with_audit_rows() -> None:
    made = brought("put_doc", path="guides/deploy.md", content="# Deploy\n\nPress the button.", tags=["ops"]).json
    assert read("put_doc", path="guides/deploy.md", content="# Deploy\n\nPress the button.", tags=["ops"]) == (
        f"{{path title version state}}: guides/deploy.md,Deploy,{made['version']},unchanged"
    )
    assert read("get_doc", path="guides/deploy.md") == (
        f"path: guides/deploy.md\ntitle: Deploy\ntags: ops\nversion: {made['version']}\n\n"
        "---\ntags:\n- ops\n---\n\n# Deploy\n\nPress the button."
    )
    assert "guides/deploy.md" in read("search_docs", query="button")
    assert read("delete_doc", path="guides/deploy.md") == "{path state}: guides/deploy.md,deleted"
    with pytest.raises(FileNotFound):
        brought("get_doc", path="guides/deploy.md")
    trail = audit_items("acme")
    outcomes = [(row["tool"], row["outcome"]) for row in trail if row["tool"] in {"rag.put_doc", "rag.delete_doc"}]
    assert sorted(outcomes) == [
        ("rag.delete_doc", "started"),
        ("rag.delete_doc", "succeeded"),
        *[("rag.put_doc", "started")] * 2,
        *[("rag.put_doc", "succeeded")] * 2,
    ]


def test_each_organization_has_documents_of_its_own() -> None:
    brought("put_doc", path="a.md", content="Ours.")
    stranger = replace(UMA, organization="other")
    with pytest.raises(FileNotFound):
        brought("delete_doc", by=stranger, path="a.md")
    assert brought("put_doc", by=stranger, path="a.md", content="Theirs.").json["state"] == "created"
    assert brought("get_doc", path="a.md").json["content"] == "Ours."


def test_a_cut_list_tells_the_reader_how_to_continue() -> None:
    for name in ("a", "b", "c"):
        brought("put_doc", path=f"{name}.md", content=name)
    cut = brought("list_docs", limit=2)
    assert [row["path"] for row in cut.json] == ["a.md", "b.md"]
    assert cut.more.startswith("Cut after 2 items")
    assert brought("list_docs", limit=3).more == ""


def test_a_path_that_leads_elsewhere_is_refused_before_any_request(bucket: list[str]) -> None:
    bucket.clear()
    with pytest.raises(InvalidRequest):
        brought("put_doc", path="../../other/docs/a.md", content="x")
    assert bucket == []


def test_a_role_that_may_only_read_can_neither_write_nor_delete() -> None:
    allowed = {name for name, tool in rag.tools.items() if role_permits(Role("readers", modules=("rag",)), tool)}
    assert allowed == set(rag.tools) - {"put_doc", "delete_doc"}


def test_resource_addresses_read_documents_and_tags() -> None:
    document, tagged = rag.resources["document"], rag.resources["tagged"]
    assert document.arguments("rag://docs/guides/%E8%A8%AD%E8%A8%88.md") == {"path": "guides/設計.md"}
    assert document.mime_type == "text/markdown"
    assert tagged.arguments("rag://tags/%E9%81%8B%E7%94%A8") == {"tag": "運用"}
    assert tagged.arguments("rag://tags/a/b") is None
