"""An organization leaves: an archive of all that is stored of it, and a deletion that keeps nothing of it."""

import io
import json
from dataclasses import replace
from zipfile import ZipFile

import pytest

from infra.cli.whole_organization import delete, write_archive
from mcpist.aws import clients
from mcpist.aws.table import directory_table, events_table
from mcpist.people import directory, holdings
from mcpist.people.company import CompanyDirectory
from tests.console.conftest import messages as messages
from tests.console.conftest import service as service
from tests.rest_api import test_foreign_objects
from tests.rest_api.test_foreign_objects import FOREIGN, OWN, World

world = test_foreign_objects.world
ONE = "subject#https://issuer.example#service-1"


def kept(organization: str) -> set[str]:
    """What the stores have of an organization, without the rows of the operator about its deletion."""
    return {one for one in test_foreign_objects.holdings(organization) if f'"{holdings.DELETIONS}#' not in one}


def test_every_key_of_every_table_is_known_to_the_list(world: World) -> None:
    world.put_back()
    unknown = [
        (name, item["pk"], item["sk"])
        for name, table in holdings.tables().items()
        for item in table.scan()
        if holdings.organization_of(name, item) is None
    ]
    assert unknown == []


def test_a_deletion_keeps_nothing_of_the_organization_and_all_of_others(
    world: World, messages: list[dict[str, object]]
) -> None:
    world.put_back()
    directory.change("globex", lambda before: replace(before, directory=CompanyDirectory(token_hash=FOREIGN)))
    directory_table().put({"pk": ONE, "sk": "org#globex", "organization": "globex", "user": "robot"})
    directory_table().put({"pk": ONE, "sk": "service", "secret_hash": FOREIGN})
    holdings.tables()["grants"].put({"pk": "#permits#globex", "sk": "user#1"})
    others = {name: kept(name) for name in ("acme", OWN)}
    events = clients.client("s3").meta.events

    def interrupt(**_: object) -> None:
        raise ConnectionError

    events.register("before-call.s3.ListObjectVersions", interrupt)
    with pytest.raises(ConnectionError):
        delete("globex")
    events.unregister("before-call.s3.ListObjectVersions", interrupt)
    assert messages[-1]["operation"] == "expire"
    assert "globex" in directory.organizations()
    assert not directory.has_company("globex")
    assert kept("globex")
    certificate = delete("globex")
    assert (kept("globex"), kept(FOREIGN)) == (set(), set())
    assert {name: kept(name) for name in ("acme", OWN)} == others
    assert "globex" not in directory.organizations()
    assert {"directory", "ledger", "events", "grants", "audit"} <= certificate["items"].keys()
    assert certificate["objects"].keys() >= {"files", "modules"}
    owners = {(one["owner"], one["provider"]) for one in certificate["accounts"]}
    assert owners == {(f"user#user_{FOREIGN}", "github"), (f"role#role_{FOREIGN}", "github")}


def test_an_archive_has_all_and_no_secret(world: World) -> None:
    world.put_back()
    secrets = {"token": "canary-1", "permit": "canary-2", "secret": "canary-3"}
    events_table().put({"pk": "globex#sources", "sk": "canary-1", "organization": "globex", **secrets})
    directory_table().put({"pk": "org#globex", "sk": "group#g", "directory": {"token_hash": "canary-4"}})
    written = io.BytesIO()
    counts = write_archive("globex", ZipFile(written, "w"))
    with ZipFile(written) as archive:
        texts = {name: archive.read(name).decode("utf-8", "replace") for name in archive.namelist()}
    assert not [name for name, text in texts.items() if "canary" in text or OWN in text]
    assert f"Content of {FOREIGN}" in texts.values()
    lines = {
        name: [json.loads(line) for line in texts[f"tables/{name}.jsonl"].splitlines()] for name in holdings.tables()
    }
    assert {name: len(found) for name, found in lines.items() if found} == {
        name: count for name, count in counts.items() if name != "objects"
    }
    assert {f"user#user_{FOREIGN}", f"role#role_{FOREIGN}"} <= {item["sk"] for item in lines["directory"]}
    assert any(item.get("account_name") == f"account_{FOREIGN}" for item in lines["grants"])
    assert any(item["user"] == f"user_{FOREIGN}" for item in lines["audit"])
