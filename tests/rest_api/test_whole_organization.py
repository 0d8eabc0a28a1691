"""An organization leaves: an archive of all that is stored of it, and a deletion that keeps nothing of it.

It comes back from restored tables: what is missing, and nothing that must not be undone.
"""

import io
import json
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zipfile import ZipFile

import pytest

from infra.cli import restored_organization
from infra.cli.document import CommandError
from infra.cli.options import Target
from infra.cli.restored_organization import TABLES, key_of, parse_tables, restore_organization
from infra.cli.whole_organization import delete, write_archive
from mcpist.aws import clients
from mcpist.aws.attributes import Item
from mcpist.aws.table import Table, directory_table, events_table
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


@pytest.fixture
def copies(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """AWS's copies of all tables, as they are now, and the options that name them."""
    world.put_back()
    monkeypatch.setattr(restored_organization, "opened", lambda _: nullcontext())
    dynamodb = clients.client("dynamodb")
    names = {kind: f"{kind}-of-{datetime.now(UTC):%H%M%S%f}" for kind in TABLES}
    for kind, name in names.items():
        source = holdings.tables()[kind].name
        dynamodb.restore_table_to_point_in_time(SourceTableName=source, TargetTableName=name)
    return [f"{kind}={name}" for kind, name in names.items()]


def restored(copies: list[str], organization: str = "globex", *, dry_run: bool = False) -> dict[str, Any]:
    return restore_organization(Target(), organization, copies, dry_run).metadata["tables"]  # type: ignore[no-any-return]


def items_by_key(organization: str) -> dict[tuple[str, str, str], Item]:
    found = {kind: holdings.items_of(organization, kind) for kind in TABLES}
    return {(kind, *key_of(item)): item for kind, items in found.items() for item in items}


@pytest.mark.usefixtures("messages")
def test_a_deleted_organization_is_whole_again_and_others_are_as_they_were(copies: list[str]) -> None:
    before, others = items_by_key("globex"), {name: items_by_key(name) for name in ("acme", OWN)}
    delete("globex")
    planned = restored(copies, dry_run=True)
    assert items_by_key("globex") == {}
    assert restored(copies) == planned
    after = items_by_key("globex")
    assert {key: item for key, item in after.items() if item.get("version") is None} == {
        key: item for key, item in before.items() if item.get("version") is None
    }
    assert after.keys() == before.keys()
    assert {name: items_by_key(name) for name in others} == others
    assert directory.organizations().count("globex") == 1
    rows = holdings.tables()["audit"].scan(holdings.DELETIONS)
    assert {"organization.deleted", "organization.restore"} <= {row["tool"] for row in rows}


def test_only_the_directory_is_replaced_and_what_is_newer_stays_but_not_what_has_expired(copies: list[str]) -> None:
    before = items_by_key("globex")
    directory.change("globex", lambda old: replace(old, name="Ruined"))
    before_restore = holdings.tables()["directory"].get("org#globex", "org")
    assert before_restore is not None
    changed: dict[str, tuple[str, str]] = {}
    for kind in ("grants", "ledger", "audit"):
        item = next(one for (of, *_), one in before.items() if of == kind)
        holdings.tables()[kind].put(item | {"changed_since": True})
        changed[kind] = key_of(item)
    holdings.tables()["directory"].put({"pk": "org#globex", "sk": "role#newer"})
    (ledger,) = (pair.partition("=")[2] for pair in copies if pair.startswith("ledger="))
    Table(ledger, "ledger").put({"pk": "globex#batch#old", "sk": "header", "expires_at": 1})
    found = restored(copies)
    assert found["ledger"]["missing"] == 0
    assert found["directory"]["newer"] == ["org#globex role#newer"]
    assert "org#globex org" in found["directory"]["changed"]
    assert (found["grants"]["changed"], found["grants"]["missing"]) == (1, 0)
    held = {kind: holdings.tables()[kind].get(*key) or {} for kind, key in changed.items()}
    assert all(item.get("changed_since") for item in held.values())
    head = holdings.tables()["directory"].get("org#globex", "org")
    assert head is not None
    assert "Ruined" not in json.dumps(head, default=str)
    assert head["version"] > before_restore["version"]


@pytest.mark.parametrize("pair", ["directory", "directory=", "logins=copy", f"{FOREIGN}=copy"])
def test_a_table_that_is_none_is_refused_before_anything_is_read(pair: str) -> None:
    with pytest.raises(CommandError, match="does not name a restored table"):
        parse_tables([f"grants={OWN}", pair])
