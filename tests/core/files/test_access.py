"""Who may read a file, until when, and what is done with one that has been changed."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mcpist.aws.clients import client
from mcpist.aws.table import ledger_table
from mcpist.caller import Caller
from mcpist.errors import (
    AuthorizationError,
    DayLimitReached,
    FileExpired,
    FileNotFound,
    FileTooLarge,
    IntegrityError,
    InvalidRequest,
    McpistError,
)
from mcpist.files import access, listing, records, storage
from mcpist.files.reference import AttachmentReference, FileReference
from mcpist.memory import forget_entries
from mcpist.settings import settings
from mcpist.telemetry import invocation
from mcpist.telemetry.log_lines import LineLogger
from tests.core.files.callers import ADA, BOB, EVE, UMA, caller

pytestmark = pytest.mark.usefixtures("aws")


def put(content: bytes = b'{"a":1}', owner: Caller = UMA, content_type: str = "application/json") -> records.FileRecord:
    return access.put(owner, content, content_type)


def refused(error: type[McpistError], work: Callable[[], Any]) -> McpistError:
    with pytest.raises(error) as found:
        work()
    assert type(found.value) is error
    return found.value


def overwrite(path: str, content: bytes) -> None:
    """Change the stored bytes behind the back of everything here."""
    client("s3").put_object(Bucket=settings().files_bucket, Key=path, Body=content)
    forget_entries()


def expire(file: records.FileRecord, seconds: int = -1) -> records.FileRecord:
    """Let a file's days end in some seconds, or before now."""
    end = int(time.time()) + seconds
    key = {"pk": "acme#files", "sk": f"{file.user}#{file.sha256}"}
    ledger_table().update(**key, expression="SET #expires_at = :end", values={":end": end})
    return replace(file, expires_at=end)


def test_no_file_is_read_beyond_the_bytes_of_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAY_MEGABYTES", "1")
    settings.cache_clear()
    file = put(b"x" * 600_000, content_type="text/plain")
    assert access.load(UMA, file.path)[0] == file
    put(b"y" * 400_000, content_type="text/plain")  # what is stored counts
    error = refused(DayLimitReached, lambda: access.load(UMA, file.path))
    assert (error.details["measure"], error.details["used"]) == ("bytes", 1_000_000)
    assert access.load(EVE, access.put(EVE, b"z", "text/plain").path)[1] == b"z"


def test_a_file_is_stored_by_its_hash_for_its_user() -> None:
    file = put()
    digest = hashlib.sha256(b'{"a":1}').hexdigest()
    assert (file.path, file.sha256, file.size_bytes) == (f"files/acme/uma/{digest[:12]}/file.json", digest, 7)
    assert isinstance(file.reference, FileReference)
    assert file.expires_at == pytest.approx(time.time() + 7 * 86_400, abs=5)


@pytest.mark.parametrize("of", ["path", "sha256", "short", "whole"])
def test_a_file_is_found_by_its_path_its_hash_and_its_reference(of: str) -> None:
    file = put()
    short = {"path": file.path, "sha256": file.sha256}
    addresses = {**short, "short": short, "whole": file.reference.model_dump()}
    assert access.load(UMA, addresses[of]) == (file, b'{"a":1}')


def test_a_file_has_a_safe_name_that_its_first_content_keeps() -> None:
    wanted = {
        "docs/report.pdf": "report.pdf",
        "議事録": "議事録.json",
        "../..": "file.json",
        'a"b\r\n..c': "a-b-c.json",
        "x" * 90: "x" * 55 + ".json",
    }
    for number, (given, name) in enumerate(wanted.items()):
        file = access.put(UMA, b"%d" % number, "application/json", given)
        assert file.name == name
        assert access.put(UMA, b"%d" % number, "application/json", "other.json").path == file.path
        # What stands behind the hash is for readers: it decides nothing.
        assert access.find(UMA, file.path.replace(name, "renamed.json")).sha256 == file.sha256


@pytest.mark.parametrize("other", [BOB, EVE, ADA])
def test_nobody_else_finds_a_file_not_even_an_administrator(other: Caller) -> None:
    file = put()
    refused(FileNotFound, lambda: access.load(other, file.path))
    refused(FileNotFound, lambda: access.load(other, file.sha256))
    refused(FileNotFound, lambda: access.load(other, {"path": file.path, "sha256": file.sha256}))


def test_names_of_users_and_organizations_lead_to_no_other_folder() -> None:
    escaping = caller("../../globex/uma", organization="a/b")
    file = put(owner=escaping)
    assert file.path.split("/")[1:3] == ["a%2Fb", "%2E%2E%2F%2E%2E%2Fglobex%2Fuma"]
    assert access.load(escaping, file.reference.model_dump())[0] == file


@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "files/acme/../globex/{}", "files\\acme\\uma\\{}", "files/acme/uma/{}\0", "a\nb"]
)
def test_a_path_that_escapes_is_refused(path: str) -> None:
    error = refused(InvalidRequest, lambda: access.find(UMA, path.format(put().sha256)))
    assert error.details["field"] == "path"


@pytest.mark.parametrize("path", ["", "x", "{}/x", "files/acme/{}", "rag/acme/docs/a.md", "files/acme/uma/x/{}"])
def test_a_path_that_no_file_has_is_not_found(path: str) -> None:
    refused(FileNotFound, lambda: access.find(UMA, path.format(put().sha256)))


def test_a_hash_that_does_not_fit_the_path_is_refused() -> None:
    address = {"path": put().path, "sha256": "0" * 64}
    assert refused(InvalidRequest, lambda: access.find(UMA, address)).details["field"] == "path.sha256"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"sha256": "X"}, "path.sha256"),
        ({"path": "/x"}, "path.path"),
        ({"size_bytes": -1}, "path.size_bytes"),
        ({"size_bytes": "7"}, "path.size_bytes"),
        ({"content_type": None}, "path.content_type"),
        ({"created_at": "yesterday"}, "path.created_at"),
        ({"created_at": "2026-11-22T10:00:00"}, "path.created_at"),
        ({"more": 1}, "path"),
    ],
)
def test_a_reference_is_checked_whole(change: dict[str, Any], field: str) -> None:
    reference = put().reference.model_dump() | change
    assert refused(InvalidRequest, lambda: access.find(UMA, reference)).details["field"] == field


def test_bytes_that_were_changed_are_never_served_and_ring_the_alarm(capsys: pytest.CaptureFixture[str]) -> None:
    file = put()
    overwrite(file.key, b'{"a":2}')
    with invocation.begin("test", LineLogger(), "request"):
        for _ in range(2):
            refused(IntegrityError, lambda: access.load(UMA, file.path))
        refused(IntegrityError, lambda: storage.verify(file.key, file.sha256))
    assert capsys.readouterr().out.count('"IntegrityFailures":[1.0]') == 3


def test_the_hash_is_checked_on_a_read_that_no_cache_answers(aws: list[str]) -> None:
    file = put()
    aws.clear()
    assert access.load(UMA, file.path) == access.load(UMA, file.path)
    assert aws.count("GetObject") == 1
    overwrite(file.key, b"changed")
    refused(IntegrityError, lambda: access.load(UMA, file.path))


def test_a_cached_content_is_given_to_nobody_else() -> None:
    file = put()
    access.load(UMA, file.path)
    refused(FileNotFound, lambda: access.load(BOB, file.path))


def test_a_file_that_is_gone_from_the_bucket_is_not_found() -> None:
    file = put()
    client("s3").delete_object(Bucket=settings().files_bucket, Key=file.key)
    refused(FileNotFound, lambda: access.load(UMA, file.path))


def test_an_expired_file_says_since_when() -> None:
    file = put()
    expire(file)
    error = refused(FileExpired, lambda: access.load(UMA, file.path))
    assert error.details["expired_at"] < file.expiry
    assert records.find_all("acme", "uma") == []
    refused(FileNotFound, lambda: access.load(BOB, file.path))


def test_storing_the_same_content_again_keeps_its_age_and_its_shares_but_not_those_of_an_expired_one() -> None:
    first = access.share(UMA, put().path, ["members"])
    again = put()
    assert (again.created_at, again.roles) == (first.created_at, ("members",))
    expire(again)
    assert put().roles == ()
    refused(FileNotFound, lambda: access.load(BOB, first.path))


def test_a_file_that_would_expire_too_early_is_kept_with_its_content_and_its_shares(aws: list[str]) -> None:
    file = expire(access.share(UMA, put().path, ["members"]), seconds=60)
    aws.clear()
    assert records.keep(file, file.expires_at) == file
    assert aws == []
    kept = records.keep(file, file.expires_at + 1)
    assert kept.expires_at > time.time() + 6 * 86_400
    assert "CopyObject" in aws
    head = client("s3").head_object(Bucket=settings().files_bucket, Key=file.key)
    assert head["ContentType"] == "application/json"
    assert access.load(BOB, file.sha256)[1] == b'{"a":1}'


def test_a_share_with_a_role_is_explicit_and_can_be_taken_back() -> None:
    file = put()
    access.share(UMA, file.path, ["members"])
    for address in (file.path, file.sha256):
        assert access.load(BOB, address)[1] == b'{"a":1}'
    refused(FileNotFound, lambda: access.load(EVE, file.path))
    refused(FileNotFound, lambda: access.load(ADA, file.path))
    access.share(UMA, file.path, [])
    refused(FileNotFound, lambda: access.load(BOB, file.path))
    assert records.find_shared("acme", ["members"]) == []


def test_only_the_owner_shares_and_only_with_roles_of_its_own() -> None:
    file = put()
    refused(FileNotFound, lambda: access.share(BOB, file.path, ["members"]))
    refused(InvalidRequest, lambda: access.share(UMA, file.path, ["admins"]))
    access.share(UMA, file.path, ["members"])
    refused(InvalidRequest, lambda: access.share(BOB, file.path, ["members"]))


def test_the_same_content_of_two_users_is_two_files() -> None:
    files = [put(), put(owner=BOB)]
    assert [access.find(one, files[0].sha256).user for one in (UMA, BOB)] == ["uma", "bob"]


def test_an_administrator_sees_that_files_exist_and_others_do_not() -> None:
    put()
    put(owner=BOB)
    assert sorted(file.user for file in access.list_existing(ADA)) == ["bob", "uma"]
    refused(AuthorizationError, lambda: access.list_existing(UMA))


def test_a_file_of_another_type_is_an_attachment_and_no_text() -> None:
    file = put(b"\x89PNG", content_type="image/png")
    assert isinstance(file.reference, AttachmentReference)
    assert access.load(UMA, file.reference.model_dump())[1] == b"\x89PNG"
    refused(InvalidRequest, lambda: access.load_text(UMA, file.path))


def test_bytes_that_are_no_text_are_refused_as_text() -> None:
    refused(InvalidRequest, lambda: access.load_text(UMA, put(b"\xff\xfe", content_type="text/plain").path))


def test_a_file_that_is_too_large_is_refused_before_it_is_read_and_can_be_verified() -> None:
    file = put(b"x" * 3_000_000)
    error = refused(FileTooLarge, lambda: storage.load(file.key, file.sha256, max_bytes=2_999_999))
    assert error.details["size_bytes"] == 3_000_000
    assert storage.verify(file.key, file.sha256) == 3_000_000


@pytest.mark.parametrize(
    "value", [None, "x", {}, {"path": "a"}, {"path": "a", "sha256": "b"}, {"path": 1, "sha256": 2}]
)
def test_other_values_are_no_references(value: Any) -> None:
    assert not access.is_reference(value)


def test_a_page_of_a_list_reads_what_it_shows_however_many_files_there_are(aws: list[str]) -> None:
    own = [access.put(UMA, f"{number}".encode(), "text/plain").sha256 for number in range(7)]
    shared = access.put(BOB, b"shared", "application/json")
    access.share(BOB, shared.sha256, ["members"])
    access.put(BOB, b"private", "text/plain")
    aws.clear()
    found, cursor = listing.list_page(UMA, "", 3)
    assert aws == ["Query", "Query", "Query", "BatchGetItem"]
    while cursor:
        files, cursor = listing.list_page(UMA, cursor, 3)
        found += files
    assert {file.sha256 for file in found} == {*own, shared.sha256}
    assert [file.place for file in found] == sorted((file.place for file in found), reverse=True)
    assert [file.sha256 for file in listing.list_page(UMA, "", 3, "JSON")[0]] == [shared.sha256]
    access.share(BOB, shared.sha256, [])
    assert {file.sha256 for file in listing.list_page(UMA, "", 20)[0]} == set(own)
