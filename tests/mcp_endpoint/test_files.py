"""Answers that become files, and what a client then does with them."""

import base64
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from mcp_types import ResourceLink

from mcp_endpoint.batch_report import _step_parts, _step_text
from mcpist.aws.clients import client
from mcpist.batch.execution import opening
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger.records import Entry
from mcpist.caller import Role
from mcpist.files import access
from mcpist.files.answers import keep_download
from mcpist.files.content import FileContent
from mcpist.memory import forget_entries
from mcpist.people import directory
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.rag.document_store import DocumentStore
from tests import members
from tests.core.files.callers import caller
from tests.core.files.test_access import expire
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.mcp_endpoint.ledger_driver import LedgerDriver

UMA = caller("uma", "members")
ROWS = [{"path": f"guides/{n}.md", "title": f"Guide {n}", "tags": ["ops"], "date": None} for n in range(5_000)]


@pytest.fixture
def documents(organization: str) -> DocumentStore:
    """A store with one long document and a short one."""
    DocumentStore.of.cache_clear()
    store = DocumentStore.of(organization)
    store.write(path="long.md", text="# Long\n\n" + "word " * 30_000, replaces=None)
    store.write(path="short.md", text="# Short\n\nHello.", replaces=None)
    return store


def reference_in(text: str) -> dict[str, Any]:
    """Return the file reference in an answer."""
    found = re.search(r"^file: (\{.*\})$", text, re.MULTILINE)
    assert found, text
    reference: dict[str, Any] = json.loads(found[1])
    return reference


def answer(endpoint: EndpointClient, tool: str, module: str = "files", **params: Any) -> str:
    failed, texts = endpoint.apart.call("call", module=module, tool=tool, params=params)
    assert not failed, texts
    return texts[0]


def refusal(endpoint: EndpointClient, tool: str, **params: Any) -> dict[str, Any]:
    return endpoint.error("call", module="files", tool=tool, params=params)


def begun(endpoint: EndpointClient, *steps: dict[str, Any]) -> LedgerDriver:
    summary = endpoint.call("batch", commands=list(steps))[1][0]
    return LedgerDriver(summary.split()[1].rstrip(":"))


def contents(endpoint: EndpointClient, uri: str) -> dict[str, Any]:
    (found,) = endpoint.request("resources/read", uri=uri)["result"]["contents"]
    result: dict[str, Any] = found
    return result


@pytest.mark.usefixtures("documents")
def test_a_document_that_is_too_large_is_a_markdown_file_that_is_read_part_by_part(endpoint: EndpointClient) -> None:
    text = answer(endpoint, "get_doc", module="rag", path="long.md")
    assert len(text) < 3_200
    assert "text: 3 lines, 150,008 characters\nbegins:\n# Long" in text
    assert "Go on with the module files" in text
    reference = reference_in(text)
    assert reference["content_type"] == "text/markdown"
    assert answer(endpoint, "read", path=reference, limit=1) == "part: lines 0-0 of 3\n\n# Long"
    assert "# Long" in answer(endpoint, "search", path=reference["sha256"], pattern="Lo.g")


@pytest.mark.usefixtures("documents")
@pytest.mark.parametrize("raw_output", [False, True])
def test_a_small_answer_is_a_file_where_the_options_say_so(endpoint: EndpointClient, raw_output: bool) -> None:
    options = {"as_file": True}
    arguments = {"module": "rag", "tool": "list_docs", "options": options, "raw_output": raw_output}
    _, (text,) = endpoint.call("call", **arguments)
    reference = reference_in(text)
    assert reference["content_type"] == "application/json"
    assert "rows: 2; columns: path, title" in text
    assert '"long.md"},{"value":"short.md"' in answer(endpoint, "query", path=reference, expression="[].path | sort(@)")


def test_a_large_result_of_a_step_keeps_a_preview_in_the_report(endpoint: EndpointClient) -> None:
    driver = begun(endpoint, {"id": "find", "module": "rag", "tool": "list_docs", "output": True})
    driver.finish("find", raw=ROWS)
    _, (_, text) = endpoint.apart.call("batch", batch_id=driver.head.batch)
    assert text.startswith("find: succeeded\nfile: ")
    assert "rows: 5,000; columns: path, title, tags, date" in text
    assert len(text) < 3_300
    reference = reference_in(text)
    assert answer(endpoint, "query", path=reference, expression="length(@)") == "value: 5000"


@pytest.mark.usefixtures("organization")
def test_a_step_that_downloads_shows_the_beginning_of_its_file_and_links_to_it() -> None:
    entry = Entry(
        0,
        Step(id="log", module="github", tool="get_job_logs", params={}, line=1, has_explicit_id=True, output=True),
        "reads",
    )
    kept = keep_download(UMA, FileContent(b"Exit code 1", "text/plain"))
    permissions = Permissions(UMA, CATALOGUE)
    shown = _step_text(entry, permissions, kept, "compact")
    text, link = _step_parts("log: succeeded", entry, permissions, kept, shown, 10_000)
    assert reference_in(str(text)) == kept["file"]
    assert str(text).endswith("begins:\nExit code 1")
    assert isinstance(link, ResourceLink)
    assert link.uri == f"mcpist://files/{kept['file']['sha256']}"


def test_an_administrator_sees_that_anothers_large_result_exists_but_not_what_it_is(endpoint: EndpointClient) -> None:
    driver = begun(endpoint, {"id": "find", "module": "rag", "tool": "list_docs", "output": True})
    driver.finish("find", raw=[{**row, "title": f"{n * 7919 % 104729}" * 9} for n, row in enumerate(ROWS)])
    _, (summary, text) = endpoint.of("ada").apart.call("batch", batch_id=driver.head.batch)
    assert "find succeeded" in summary
    assert "Its results are uma's: an administrator opens them in the console" in summary
    assert text == "find: succeeded"
    opening.open_results(replace(UMA, user="ada", system_role="admin"), driver.head.batch, "why")
    _, (summary, text) = endpoint.of("ada").apart.call("batch", batch_id=driver.head.batch)
    assert "Its results are" not in summary
    assert text == "find: succeeded\n[the result is in a file of uma, which you cannot read]"


def test_a_file_is_a_resource_of_which_a_part_can_be_read(endpoint: EndpointClient) -> None:
    file = access.put(UMA, "日本語".encode() * 50_000, "text/plain")
    uri = f"mcpist://files/{file.sha256}"
    first = contents(endpoint, uri)
    part = first["_meta"]["mcpist/part"]
    assert (first["mimeType"], part["offset"], part["size_bytes"]) == ("text/plain", 0, 450_000)
    assert first["text"] == ("日本語" * 11_112)[: len(first["text"])]
    following = contents(endpoint, part["next"])
    assert following["_meta"]["mcpist/part"]["offset"] == len(first["text"].encode())
    assert contents(endpoint, f"{uri}?offset=449997&limit=9")["text"] == "語"
    templates = endpoint.request("resources/templates/list")["result"]["resourceTemplates"]
    assert "mcpist://files/{sha256}{?offset,limit}" in {one["uriTemplate"] for one in templates}


def test_an_attachment_is_a_resource_of_bytes(endpoint: EndpointClient) -> None:
    file = access.put(UMA, b"\x89PNG", "image/png")
    found = contents(endpoint, f"mcpist://files/{file.sha256}")
    assert (found["mimeType"], base64.b64decode(found["blob"])) == ("image/png", b"\x89PNG")


def test_nobody_reads_anothers_file_by_any_way(endpoint: EndpointClient) -> None:
    file = access.put(UMA, b"secret", "text/plain")
    administrator = endpoint.of("ada")
    error = administrator.request("resources/read", uri=f"mcpist://files/{file.sha256}")["error"]
    assert error["data"]["code"] == "FILE_NOT_FOUND"
    for address in (file.path, file.sha256, file.reference.model_dump()):
        assert refusal(administrator, "read", path=address)["code"] == "FILE_NOT_FOUND"
    params = {"query": {"path": file.path, "sha256": file.sha256}}
    error = administrator.error("call", module="rag", tool="search_docs", params=params)
    assert error["code"] == "FILE_NOT_FOUND"


def test_a_share_with_a_role_lets_its_people_read(endpoint: EndpointClient) -> None:
    file = access.put(UMA, b"shared", "text/plain")
    access.share(UMA, file.path, ["members"])
    assert "shared" in answer(endpoint.of("ada"), "read", path=file.sha256)


def test_bytes_that_were_changed_are_an_error_and_never_an_answer(
    endpoint: EndpointClient, capsys: pytest.CaptureFixture[str]
) -> None:
    file = access.put(UMA, b"original", "text/plain")
    client("s3").put_object(Bucket=settings().files_bucket, Key=file.key, Body=b"tampered")
    forget_entries()
    assert refusal(endpoint, "read", path=file.path)["code"] == "INTEGRITY_ERROR"
    error = endpoint.request("resources/read", uri=f"mcpist://files/{file.sha256}")["error"]
    assert error["data"]["code"] == "INTEGRITY_ERROR"
    printed = capsys.readouterr().out
    assert '"IntegrityFailures":[1.0]' in printed
    assert "tampered" not in printed


@pytest.mark.usefixtures("documents")
def test_a_file_takes_the_place_of_a_text(endpoint: EndpointClient) -> None:
    file = access.put(UMA, b"# From a file\n\nText.", "text/markdown")
    members.put_role("acme", Role("members", modules=NAMES, allow=("*",)))
    directory.access_cache.clear()
    params = {"path": "new.md", "content": {"path": file.path, "sha256": file.sha256}}
    assert "new.md" in endpoint.call("call", module="rag", tool="put_doc", params=params)[1][0]
    assert answer(endpoint, "get_doc", module="rag", path="new.md").endswith("# From a file\n\nText.")


def test_a_step_with_a_missing_file_is_refused_with_its_line_before_anything_runs(
    endpoint: EndpointClient, aws: list[str]
) -> None:
    gone = {"path": f"files/acme/uma/{'0' * 12}/a.md", "sha256": "0" * 64}
    steps = [
        {"id": "tags", "module": "rag", "tool": "list_tags"},
        {"id": "find", "module": "rag", "tool": "search_docs", "params": {"query": gone}},
    ]
    error = endpoint.error("batch", commands=steps)
    assert (error["code"], error["details"]["line"], error["details"]["id"]) == ("FILE_NOT_FOUND", 2, "find")
    assert "StartExecution" not in aws


def test_a_file_that_a_batch_names_is_kept_while_the_batch_is_open(endpoint: EndpointClient) -> None:
    file = expire(access.put(UMA, b"x", "text/plain"), seconds=60)
    begun(endpoint, {"id": "read", "module": "files", "tool": "read", "params": {"path": file.path}})
    assert access.find(UMA, file.path).expires_at > file.expires_at + 86_400
