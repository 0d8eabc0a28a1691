"""Skills at the endpoint: listed with the hashes of their files, read, and found, by those who have their modules."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from mcpist.bounded_yaml import load_yaml
from mcpist.caller import Caller, Role, Subject
from mcpist.people import directory
from mcpist_services import NAMES, skill_records, skills
from mcpist_services.rag.document_store import DocumentStore
from mcpist_services.rag.documents import front_matter
from tests import members
from tests.audit_items import audit_items
from tests.mcp_endpoint.endpoint_client import EndpointClient
from tests.mcp_endpoint.test_saved_batches import MODULES, SAVE
from tests.services.rag.bucket import store

GITHUB = "skill://github/SKILL.md"
ADA = Caller("acme", "ada", Subject("issuer", "ada"), "admin", ())
REFUNDS = "---\nname: refunds\ndescription: How we refund\nlicense: ours\n---\n# Refunds\nUse [mail](mails/sorry.md).\n"


@pytest.fixture
def door(endpoint: EndpointClient) -> EndpointClient:
    return endpoint


def role(*modules: str, **fields: Any) -> None:
    members.put_role("acme", Role("members", modules=modules, **fields))
    directory.access_cache.clear()


def write(documents: dict[str, str]) -> None:
    """Store documents, with the reviews of the skills among them."""
    for path, text in documents.items():
        store(path, text)
    DocumentStore.of("acme").index(refresh=True)
    for skill in skills.of_organization("acme"):
        skill_records.record(ADA, skill.name, skill.fingerprint)


def listed(door: EndpointClient) -> dict[str, Any]:
    result = door.request("skills/list")["result"]
    assert (result["resultType"], result["cacheScope"]) == ("complete", "private")
    return {skill["uri"]: skill for skill in result["skills"]}


def text_of(door: EndpointClient, uri: str) -> str:
    return str(door.request("resources/read", uri=uri)["result"]["contents"][0]["text"])


def test_each_file_of_a_skill_has_the_hash_and_the_front_matter_that_the_list_says(door: EndpointClient) -> None:
    role(*MODULES, allow=("saved.*",))
    write({"skills/refunds/SKILL.md": REFUNDS, "skills/refunds/mails/sorry.md": "Sorry.\n", "skills/x.md": "x"})
    assert not door.call("call", module="saved", tool="save", params=SAVE)[0]
    found = listed(door)
    assert {*found} >= {GITHUB, "skill://slack/SKILL.md", "skill://saved-batches/SKILL.md"}
    refunds = found["skill://organization/refunds/SKILL.md"]
    assert refunds["frontmatter"] == {"name": "refunds", "description": "How we refund", "license": "ours"}
    assert [one["uri"].rpartition("refunds/")[2] for one in refunds["resources"]] == ["SKILL.md", "mails/sorry.md"]
    for skill in found.values():
        assert skill["uri"].split("/")[-2] == skill["frontmatter"]["name"]
        assert load_yaml(front_matter(text_of(door, skill["uri"])) or "") == skill["frontmatter"]
        for one in skill["resources"]:
            content = text_of(door, one["uri"]).encode()
            assert (f"sha256:{hashlib.sha256(content).hexdigest()}", len(content)) == (one["digest"], one["size"])
    assert '"tool": "best_doc"' in text_of(door, "skill://saved-batches/SKILL.md")
    assert any(row["tool"].endswith("get_doc") for row in audit_items("acme"))
    single = door.request("skills/get", uri=GITHUB)["result"]
    assert single["skill"] == found[GITHUB]
    names = [one["uri"] for one in door.request("resources/list")["result"]["resources"]]
    assert {*found} <= {*names}


def test_directories_are_read_one_level_at_a_time(door: EndpointClient) -> None:
    role(*NAMES)
    write({"skills/refunds/SKILL.md": REFUNDS, "skills/refunds/mails/sorry.md": "Sorry.\n"})
    root = door.request("resources/directory/read", uri="skill://organization/refunds")["result"]["resources"]
    assert [(one["name"], one["mimeType"]) for one in root] == [
        ("SKILL.md", "text/markdown"),
        ("mails", "inode/directory"),
    ]
    inner = door.request("resources/directory/read", uri=root[1]["uri"])["result"]["resources"]
    assert [one["uri"] for one in inner] == ["skill://organization/refunds/mails/sorry.md"]


def test_who_lacks_a_module_has_no_skill_about_it(door: EndpointClient) -> None:
    write({"skills/refunds/SKILL.md": REFUNDS, "skills/broken/SKILL.md": "---\nname: other\n---\n"})
    role("slack", "notion")
    assert {*listed(door)} == {"skill://slack/SKILL.md"}
    for method in ("skills/get", "resources/read"):
        refused = door.request(method, uri=GITHUB)["error"]
        assert (refused["code"], refused["data"]["code"]) == (-32602, "FILE_NOT_FOUND")
    for uri in ("skill://organization/refunds", "skill://nothing", "skill://slack/SKILL.md"):
        assert door.request("resources/directory/read", uri=uri)["error"]["code"] == -32602
    role("slack", "rag")
    assert {*listed(door)} == {"skill://slack/SKILL.md", "skill://organization/refunds/SKILL.md"}


def test_a_search_names_the_skills_of_what_it_finds_and_the_server_declares_them(door: EndpointClient) -> None:
    role(*NAMES)
    found = door.call("get_module_schema", query="open a pull request")[1][0]
    assert f"{GITHUB}: Work with GitHub" in found
    calendar = "skill://notion-and-google-calendar/SKILL.md"
    assert calendar in door.call("get_module_schema", modules=["notion"])[1][0]
    role("notion")
    assert calendar not in door.call("get_module_schema", modules=["notion"])[1][0]
    capabilities = door.request("server/discover")["result"]["capabilities"]
    assert capabilities["extensions"]["io.modelcontextprotocol/skills"] == {"directoryRead": True}


def test_a_task_finds_the_organizations_own_skills_and_those_about_a_module_that_it_finds(door: EndpointClient) -> None:
    role(*NAMES)
    pulls = "---\nname: our-reviews\ndescription: House rules\nmetadata:\n  modules: github\n---\n"
    write({"skills/refunds/SKILL.md": REFUNDS, "skills/our-reviews/SKILL.md": pulls})
    found = {one["module"]: one for one in schema(door, "open a pull request")}
    assert "skill://organization/our-reviews/SKILL.md: House rules" in found["github"]["skills"]
    assert "refunds" not in str(found)
    assert "skill://organization/refunds/SKILL.md: How we refund" in str(schema(door, "refund a customer"))
    role("rag", "slack")
    assert "our-reviews" not in str(listed(door))
    assert "refunds" in str(schema(door, "refund a customer"))
    role("slack")
    assert "refunds" not in str(schema(door, "refund a customer"))


def schema(door: EndpointClient, task: str) -> Any:
    return json.loads(door.call("get_module_schema", query=task)[1][0])["modules"]


def test_the_page_about_skills_does_what_it_says(door: EndpointClient) -> None:
    role(*NAMES, allow=("rag.*",))
    page = (Path(__file__).parents[2] / "docs/skills.md").read_text("utf-8")
    requests = [json.loads(text) for text in re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)]
    assert len(requests) == 6
    for request in requests:
        answer = door.request(request["method"], **request["params"])
        assert not answer.get("result", {"isError": True}).get("isError"), answer
