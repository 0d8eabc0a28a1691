"""The gate of an import: every tool shows an id, data and no secret, and chains of tools work on the API's mock."""

from typing import Any

from infra.cli.api_trial import NO_DATA, NO_ID, SECRET, try_out
from mcpist_services.described.account_rule import Security
from mcpist_services.described.description import parse
from mcpist_services.described.overlay import ImportTrial, Overlay
from tests.services.described.library import LIBRARY, SERVER, answers, content, library, overlay_of, takes

BOOKS = {"$ref": "#/components/schemas/Book"}


def described() -> dict[str, Any]:
    """The library, whose books can be changed as well."""
    found = library()
    found["paths"]["/books/{book-id}"]["patch"] = {"requestBody": takes(BOOKS), "responses": answers(BOOKS)}
    return found


def trial_of(overlay: Overlay) -> ImportTrial:
    return try_out(parse(content(described())), overlay)


def with_rule(tool: str, **changes: Any) -> Overlay:
    """The library's overlay with one tool as somebody changed it."""
    overlay = overlay_of(described())
    return overlay.model_copy(update={"tools": overlay.tools | {tool: overlay.tools[tool].model_copy(update=changes)}})


def test_the_tools_of_a_collection_create_list_get_update_and_delete_one_item() -> None:
    assert trial_of(overlay_of(described())) == ImportTrial(chains=1, passed=1)


def test_where_a_person_corrected_how_accounts_are_connected_their_credential_counts() -> None:
    overlay = overlay_of(described()).model_copy(update={"security": Security(kind="bearer")})
    assert trial_of(overlay) == ImportTrial(chains=1, passed=1)


def test_a_tool_that_shows_no_id_no_data_or_a_secret_is_named() -> None:
    for tool, changes, problem in [
        ("get_book", {"shows": ("title",)}, NO_ID),
        ("list_books", {"shows": ("titel",)}, NO_DATA),
    ]:
        assert trial_of(with_rule(tool, **changes)).problems[tool] == problem, changes
    secretive = described()
    secretive["components"]["schemas"]["Book"] = LIBRARY["components"]["schemas"]["Book"] | {
        "properties": {**LIBRARY["components"]["schemas"]["Book"]["properties"], "auth_token": {"type": "string"}}
    }
    overlay = overlay_of(secretive)
    assert not try_out(parse(content(secretive)), overlay).problems
    shown = overlay.tools["get_book"].model_copy(update={"secrets": ("!auth_token",)})
    overlay = overlay.model_copy(update={"tools": overlay.tools | {"get_book": shown}})
    assert try_out(parse(content(secretive)), overlay).problems == {"get_book": SECRET}


def test_a_chain_whose_tool_acts_on_another_item_fails() -> None:
    found = trial_of(with_rule("list_books", shows=("author.name as id", "title")))
    assert (found.chains, found.passed) == (1, 0)
    assert found.problems["list_books"] == NO_ID
    wrong = with_rule("get_book", operation="GET /books/{book-id}")
    parameters = {"book_id": wrong.tools["get_book"].parameters["book_id"].model_copy(update={"spec": {"enum": ["7"]}})}
    found = trial_of(with_rule("get_book", parameters=parameters))
    assert (found.chains, found.passed) == (1, 0)
    assert found.problems["get_book"].startswith("in a chain: its call fails")
    assert SERVER in wrong.host
