import json
from dataclasses import replace
from typing import Any

import boto3
import pytest

from mcpist.aws.attributes import json_bytes
from mcpist.errors import (
    AlreadyExists,
    AuthorizationError,
    IntegrityError,
    InvalidRequest,
    McpistError,
    ModuleNotFound,
)
from mcpist.memory import forget_entries
from mcpist.people import directory
from mcpist.people.administration import Administration
from mcpist.registry import definitions
from mcpist.registry.entries import Filter, Registry
from mcpist.render.shows import Shows
from mcpist.settings import settings
from mcpist.telemetry import invocation
from mcpist.telemetry.log_lines import LineLogger
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.call import Call
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.described.registered import read_index
from mcpist_services.registered import registration, request
from mcpist_services.registered.request import parse
from tests import members
from tests.audit_items import audit_items
from tests.core.people.conftest import FakeAccounts
from tests.services.described.library import PAGE, answers, library, overlay_of
from tests.services.registered.people import Registrar

OTHER_HOST = "https://other.library.example/v1"


def audit_rows() -> list[dict[str, Any]]:
    """Return the rows about changes, the oldest first."""
    return [row for row in audit_items("acme") if row["event"] == "change"]


def test_an_api_becomes_a_module_of_the_organization_that_works_as_a_written_one(registrar: Registrar) -> None:
    registrar.register(name="library", openapi=library(), tags=["books"], category="reading", version="2.0.0")
    registrar.grant("library")
    of = registrar.permissions()
    tool = of.tool("library", "get_book")
    assert tool.describe_work(tool.validate({"book_id": "7"})) == Call("GET", "/books/7")
    assert "library" in [hit.module for hit in of.search("list the books of the library")]
    assert isinstance(of.catalogue.shows("library", "get_book"), Shows)
    entry = Registry(of).get("library.get_book")
    assert (entry.source, entry.version, entry.category, entry.tags) == ("api", "2.0.0", "reading", ("books",))
    assert entry.dependencies == ("library",)
    assert entry.registered_at == directory.read("acme").modules["library"].registered_at
    assert [one.module for one in Registry(of).list(Filter(tag="books"))][:1] == ["library"]


def test_an_index_that_another_release_stored_is_made_anew(registrar: Registrar) -> None:
    registrar.register(name="library", openapi=library())
    (module,) = directory.read("acme").modules.values()
    definition = dict(definitions.load("acme", module.sha256))
    current = read_index(definition)
    older = json.loads(definition["index"]) | {"format": 1}
    older["modules"][0]["tools"] = [
        [*tool[:3], f"{tool[3]}: {tool[4]}", tool[5]] for tool in older["modules"][0]["tools"]
    ]
    assert read_index(definition | {"index": json.dumps(older)}).tools == current.tools


def test_a_description_may_come_as_text_and_with_corrections(registrar: Registrar) -> None:
    registrar.register(name="library", openapi=json_bytes(library()).decode(), operations=["GET *"])
    registrar.grant("library")
    assert all(tool.reads for tool in registrar.permissions().catalogue.index.modules["library"].tools.values())


def test_a_registered_module_is_in_no_role_until_an_administrator_puts_it_there(registrar: Registrar) -> None:
    role = directory.read("acme").role("members")
    members.put_role("acme", replace(role, modules=(*role.modules, "library"), allow=("*",)))
    registrar.register(name="library", openapi=library())
    assert "library" not in directory.read("acme").role("members").modules
    of = registrar.permissions()
    assert "library" not in [module.name for module in of.modules()]
    for name in ("library", "library.get_book"):
        with pytest.raises(AuthorizationError):
            of.tool("library", name.partition(".")[2]) if "." in name else of.module("library")


def test_other_organizations_do_not_see_it_and_pay_nothing(registrar: Registrar, aws: list[str]) -> None:
    registrar.register(name="library", openapi=library())
    stranger = replace(registrar.member(), organization="globex", modules=())
    aws.clear()
    with pytest.raises(ModuleNotFound):
        Permissions(stranger, CATALOGUE).module("library")
    assert CATALOGUE.of(stranger) is CATALOGUE
    assert aws == []


def test_a_warm_sandbox_sends_no_request_for_it_and_a_cold_one_only_one(registrar: Registrar, aws: list[str]) -> None:
    registrar.register(name="library", openapi=library())
    registrar.grant("library")
    forget_entries()
    caller = registrar.member()
    aws.clear()
    Permissions(caller, CATALOGUE).tool("library", "get_book")
    assert aws == ["GetObject"]
    Permissions(caller, CATALOGUE).tool("library", "get_book")
    assert aws == ["GetObject"]


def test_a_name_that_exists_is_a_conflict_unless_it_is_overwritten(registrar: Registrar) -> None:
    registrar.register(name="library", openapi=library())
    registrar.grant("library")
    with pytest.raises(AlreadyExists):
        registrar.register(name="library", openapi=library())
    again = registrar.register(name="library", openapi=library(), operations=["GET *"], overwrite=True)
    assert again.change.before.modules["library"].sha256 != again.change.after.modules["library"].sha256
    assert "library" in directory.read("acme").role("members").modules
    assert "delete_book" not in registrar.permissions().module("library").tools


@pytest.mark.parametrize("name", ["github", "google", "files", "call", "atlassian"])
def test_a_name_of_the_deployment_is_refused_even_to_overwrite(registrar: Registrar, name: str) -> None:
    with pytest.raises(AlreadyExists):
        registrar.register(name=name, openapi=library(), overwrite=True)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": "library"}, "url"),
        ({"name": "library", "url": "https://notes.example.com/mcp"}, "description"),
        ({"name": "Library", "openapi": {}}, "name"),
        ({"name": "a/b", "openapi": {}}, "name"),
        ({"name": "library", "openapi": {}, "url": "https://notes.example.com/mcp"}, "url"),
        ({"name": "library", "openapi": {}, "headers": {"a": "b"}}, "headers"),
        ({"name": "library", "url": "https://x.example.com", "description": "x", "operations": ["a"]}, "operations"),
        ({"name": "library", "openapi": {}, "colour": "red"}, "colour"),
    ],
)
def test_what_is_missing_or_wrong_is_named(body: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse(body)
    assert refused.value.details["field"] == field


@pytest.mark.parametrize(
    "openapi", [{}, {"openapi": "3.0.0"}, "no: [yaml", library() | {"servers": [{"url": "http://10.0.0.1"}]}]
)
def test_of_a_description_that_is_refused_nothing_is_registered(registrar: Registrar, openapi: Any) -> None:
    with pytest.raises(InvalidRequest):
        registrar.register(name="library", openapi=openapi)
    assert directory.read("acme").modules == {}
    assert [row["outcome"] for row in audit_rows()] == ["VALIDATION_ERROR"]


def test_the_files_of_one_description_are_one_module(registrar: Registrar) -> None:
    second = library(paths={"/readers": {"get": {"operationId": "listReaders", "responses": answers(PAGE)}}})
    registrar.register(name="library", openapi=[library(), json_bytes(second).decode()])
    registrar.grant("library")
    assert {"list_books", "list_readers"} <= registrar.permissions().catalogue.index.modules["library"].tools.keys()


@pytest.mark.parametrize(
    ("openapi", "field"),
    [
        ([library(), {}], "openapi.1"),
        ([library(), library()], "openapi.1"),
        ([library(), {"openapi": "4.0.0", "paths": {}}], "openapi.1#/openapi"),
        ([], "openapi"),
        ([{}] * 51, "openapi"),
        ({"openapi": "4.0.0", "paths": {}}, "openapi#/openapi"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(registrar: Registrar, openapi: Any, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        registrar.register(name="library", openapi=openapi)
    assert refused.value.details["field"] == field
    assert directory.read("acme").modules == {}


@pytest.mark.parametrize("schema", [{"type": 5}, {"enum": 3}, {"anyOf": [5]}, {"properties": []}, {"items": 5}])
def test_a_parameter_whose_schema_is_none_is_refused_with_its_place(
    registrar: Registrar, schema: dict[str, Any]
) -> None:
    overlay = overlay_of(library()).dump()
    overlay["tools"]["get_book"]["parameters"]["book_id"]["schema"] = schema
    with pytest.raises(InvalidRequest) as refused:
        registrar.register(name="library", overlay=overlay)
    assert refused.value.details["field"].startswith("overlay.get_book.book_id")


def test_an_accounts_destination_cannot_be_moved_under_it(registrar: Registrar) -> None:
    registrar.register(name="library", openapi=library())
    assert registrar.revoked == ["library"]
    registrar.register(name="library", openapi=library(), operations=["GET *"], overwrite=True)
    assert registrar.revoked == ["library"]
    registrar.register(name="library", openapi=library(), server=OTHER_HOST, overwrite=True)
    assert registrar.revoked == ["library"] * 3, "before the change, and what was connected during it"
    registrar.unregister("library")
    assert registrar.revoked == ["library"] * 4


@pytest.mark.parametrize(
    "change",
    [
        {"security": {"kind": "header", "parameter": "X-Other-Key"}},
        {"security": {"kind": "header", "parameter": "X-Library-Key", "prefix": "Token "}},
        {"security": {"kind": "bearer"}},
        {"headers": {"X-Tenant": "other"}},
    ],
)
def test_all_that_decides_where_a_key_is_sent_revokes_the_accounts(
    registrar: Registrar, change: dict[str, Any]
) -> None:
    overlay = overlay_of(library()).dump()
    registrar.register(name="library", overlay=overlay)
    registrar.revoked.clear()
    registrar.register(name="library", overlay={**overlay, "title": "Books", "tags": ["x"]}, overwrite=True)
    assert registrar.revoked == []
    if headers := change.pop("headers", None):
        overlay["tools"]["get_book"]["headers"] = headers
    registrar.register(name="library", overlay=overlay | change, overwrite=True)
    assert registrar.revoked == ["library"] * 2


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"headers": {"Host": "other.example.com"}}, "no header that a tool may set"),
        ({"headers": {"X-Forwarded-Host": "other.example.com"}}, "no header that a tool may set"),
        ({"headers": {"X-HTTP-Method-Override": "DELETE"}}, "no header that a tool may set"),
        ({"headers": {"Authorization": "Bearer of others"}}, "no header that a tool may set"),
        ({"operation": "GET /books/../../other/{book-id}"}, "no segment of its path"),
        ({"operation": "GET /books/%2e%2e/{book-id}"}, "no segment of its path"),
    ],
)
def test_no_tool_of_a_registered_api_sends_its_key_past_the_registered_place(
    registrar: Registrar, change: dict[str, Any], problem: str
) -> None:
    overlay = overlay_of(library()).dump()
    overlay["tools"]["get_book"] |= change
    with pytest.raises(InvalidRequest, match=problem):
        registrar.register(name="library", overlay=overlay)
    overlay = overlay_of(library()).dump() | {"security": {"kind": "header", "parameter": "Host"}}
    with pytest.raises(InvalidRequest, match="no key can be sent in the header Host"):
        registrar.register(name="library", overlay=overlay)


def test_an_overlay_whose_schemas_take_too_long_to_check_is_refused(
    registrar: Registrar, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlay = overlay_of(library()).dump()
    overlay["schemas"] = {"wide": {"properties": {f"p{number}": {"type": "string"} for number in range(900)}}}
    monkeypatch.setattr(request, "MAX_OVERLAY_EVALUATIONS", 5_000)
    with pytest.raises(InvalidRequest, match="take too long to check"):
        registrar.register(name="library", overlay=overlay)


@pytest.mark.parametrize("name", ["login", "callback", "confirm", "kill", "modules"])
def test_no_module_has_the_name_of_an_address_or_a_command(registrar: Registrar, name: str) -> None:
    with pytest.raises(AlreadyExists):
        registrar.register(name=name, openapi=library())


def test_accounts_end_where_a_description_names_another_oauth_server(registrar: Registrar) -> None:
    registrar.register(name="library", openapi=library())
    described = library()
    described["components"]["securitySchemes"] = {
        "key": {
            "type": "oauth2",
            "flows": {
                "authorizationCode": {
                    "authorizationUrl": "https://evil.example.com/a",
                    "tokenUrl": "https://evil.example.com/t",
                    "scopes": {},
                }
            },
        }
    }
    registrar.register(name="library", openapi=described, overwrite=True)
    assert registrar.revoked == ["library", "library", "library"]
    registrar.grant("library")
    assert registrar.permissions().catalogue.module("library").credential is not None


def test_a_removed_module_is_not_found_anymore_and_in_no_role(registrar: Registrar) -> None:
    registrar.register(name="library", openapi=library())
    registrar.grant("library")
    before = registrar.permissions()
    registrar.unregister("library")
    assert before.tool("library", "get_book").name == "get_book"  # a running step ends
    with pytest.raises(ModuleNotFound):
        registrar.permissions().tool("library", "get_book")
    assert "library" not in directory.read("acme").role("members").modules
    with pytest.raises(ModuleNotFound):
        registrar.unregister("library")


def test_a_definition_that_was_changed_in_the_bucket_is_not_used_and_hides_nothing_else(
    registrar: Registrar, capsys: pytest.CaptureFixture[str]
) -> None:
    registrar.register(name="library", openapi=library())
    registrar.grant("library")
    found = directory.read("acme").modules["library"]
    boto3.client("s3").put_object(
        Bucket=settings().files_bucket, Key=f"modules/acme/{found.sha256}", Body=b'{"overlay": {}}'
    )
    forget_entries()
    with invocation.begin("test", LineLogger(), "request"):
        of = registrar.permissions()
    with pytest.raises(IntegrityError):
        of.tool("library", "get_book")
    assert '"IntegrityFailures":[1.0]' in capsys.readouterr().out
    assert of.tool("github", "get_issue").name == "get_issue"
    assert "library" not in [module.name for module in of.modules()]


def test_every_change_has_a_row_with_before_and_after(registrar: Registrar) -> None:
    registrar.register(name="library", openapi=library())
    registrar.unregister("library")
    made, removed = (row for row in audit_rows() if row["target"] == "modules.library")
    assert (made["tool"], made["before"]) == ("modules.create", None)
    assert made["after"]["sha256"] == removed["before"]["sha256"]
    assert (removed["tool"], removed["after"]) == ("modules.delete", None)


def test_only_an_administrator_registers_and_the_attempt_has_a_row(registrar: Registrar) -> None:
    uma = Administration(registrar.member(), "request-2", FakeAccounts())
    attempts = (
        lambda: registration.register(uma, parse({"name": "library", "openapi": library()})),
        lambda: registration.unregister(uma, "library"),
        lambda: registration.approve(uma, "library", ()),
    )
    for attempt in attempts:
        with pytest.raises(AuthorizationError):
            attempt()
    assert [row["outcome"] for row in audit_rows()] == ["AUTHORIZATION_ERROR"] * 3
    assert registrar.revoked == []


def test_an_organization_registers_only_so_many_modules(registrar: Registrar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "MAX_REGISTERED_MODULES", 1)
    registrar.register(name="library", openapi=library())
    with pytest.raises(McpistError, match="at most 1"):
        registrar.register(name="archive", openapi=library())


def test_an_import_of_the_organization_keeps_its_modules(registrar: Registrar) -> None:
    registrar.register(name="library", openapi=library())
    directory.replace_organization(replace(directory.read("acme"), modules={}))
    assert directory.read("acme").modules.keys() == {"library"}
