import json
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from mcpist.errors import InvalidRequest
from mcpist.files import values
from mcpist.files.content import YAML
from mcpist_services.described import description
from mcpist_services.described.description import parse
from mcpist_services.described.module import module
from mcpist_services.described.proposal import propose
from mcpist_services.described.references import MAX_API_BYTES, read_document
from mcpist_services.described.samples import sample
from tests.examples import examples
from tests.faults import for_each
from tests.services.described.library import LIBRARY, SERVER, answers, content, library, overlay_of, takes

# Nine aliases of nine aliases of ...: a few hundred bytes that unfold to 9 ** 8 values.
BOMB = "\n".join(
    ["openapi: 3.0.0", "a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))]
)
REFUSED = {
    "no OpenAPI": (b'{"name": "package"}', "description", "neither `openapi` nor `swagger`"),
    "a list": (b"- 1", "description", "no OpenAPI"),
    "another version": (b'{"openapi": "4.0.0", "paths": {}}', "#/openapi", "2.0, 3.0, 3.1 and 3.2"),
    "no paths": (b'{"openapi": "3.0.0"}', "#/paths", "no object"),
    "broken JSON": (b'{"openapi":\n 3,,}', "description: line 2, column 4", "no JSON"),
    "no number of JSON's": (b'{"openapi": NaN}', "description", "no JSON"),
    "deep JSON": (b'{"a":' + b"[" * 100_000, "description", "nested too deeply"),
    "broken YAML": (b"openapi: [3\n]]", "description: line 2", "no YAML"),
    "deep YAML": (b"a: " + b"[" * 100_000, "description: line 1", "nested more than"),
    "two documents": (b"openapi: 3.0.0\n---\nopenapi: 3.0.0", "description: line 2", "more than one document"),
    "exploding aliases": (BOMB.encode(), "description: line 9", "has more than 2000000 values"),
    "an alias of itself": (b"openapi: &a [*a]", "description: line 1", "names nothing that ended"),
    "20 MB": (b" " * 20_000_000, "description", f"larger than {MAX_API_BYTES // 1_000_000} MB"),
    "a compressed bomb": (zlib.compress(b"0" * 50_000_000), "description", "must be unpacked"),
    "a zip file": (b"PK\x03\x04\xff\xfe", "description", "must be unpacked"),
}


@for_each("name", list(REFUSED))
def test_what_is_no_description_is_refused_with_its_place(name: str) -> None:
    given, place, problem = REFUSED[name]
    with pytest.raises(InvalidRequest, match=problem) as refused:
        parse(given)
    assert refused.value.details["field"] == place


def test_yaml_has_only_the_types_of_json() -> None:
    text = """
    # a comment
    yes: no
    day: 2026-01-31
    version: "3.0"
    version_number: 3.1
    code: 0777
    200: {nullable: true, none: null, empty: }
    list: &shared [1, -2, .5, 'true']
    again: *shared
    <<: {merged: 1}
    folded: >
      two
      lines
    """
    assert read_document(text.encode()) == {
        "yes": "no",
        "day": "2026-01-31",
        "version": "3.0",
        "version_number": 3.1,
        "code": 777,
        "200": {"nullable": True, "none": None, "empty": None},
        "list": [1, -2, 0.5, "true"],
        "again": [1, -2, 0.5, "true"],
        "merged": 1,
        "folded": "two lines\n",
    }


@pytest.mark.parametrize(
    "text", ["[True, NULL, 0x1F, 0o17, 1e999, 12345678901234567890]", "a: {<<: {x: 1}, x: 2}", "~"]
)
def test_a_description_and_a_file_of_the_same_yaml_have_the_same_values(text: str) -> None:
    assert read_document(text.encode()) == values.parse(text, YAML)


def test_of_two_equal_keys_of_a_description_the_last_counts() -> None:
    assert read_document(b"a: 1\na: 2") == read_document(b'{"a": 1, "a": 2}') == {"a": 2}


def test_yaml_and_json_give_the_same_description() -> None:
    import yaml

    found, same = parse(content(library())), parse(yaml.safe_dump(library(), sort_keys=False).encode())
    assert sorted(map(repr, found.operations)) == sorted(map(repr, same.operations))
    assert found.schemes == same.schemes


def circle() -> dict[str, Any]:
    described = library()
    described["components"]["parameters"] = {
        "A": {"$ref": "#/components/parameters/B"},
        "B": {"$ref": "#/components/parameters/A"},
    }
    described["paths"]["/books"]["get"]["parameters"] = [{"$ref": "#/components/parameters/A"}]
    return described


def nowhere() -> dict[str, Any]:
    described = library()
    described["paths"]["/books"]["get"]["parameters"] = [{"$ref": "#/components/parameters/None"}]
    return described


def twice() -> dict[str, Any]:
    described = library()
    described["paths"]["/books"]["post"]["operationId"] = "listBooks"
    return described


@pytest.mark.parametrize(
    ("described", "place", "problem"),
    [
        (circle(), "#/paths/~1books/get/parameters", "leads in a circle"),
        (nowhere(), "#/paths/~1books/get/parameters", "leads nowhere"),
        (twice(), "POST /books", "operationId listBooks is that of GET /books too"),
        (library(paths={"books": {"get": {}}}), "#/paths/books", "begins with a slash"),
        (library(paths={"/a": {"get": {"responses": []}}, "/b": 1}), None, ""),
        (library(paths={"/a": {"get": {"responses": [1]}}}), "#/paths/~1a/get/responses", "no object"),
        (library(paths={"/a": {"get": {"parameters": [{"in": "query"}]}}}), "#/paths/~1a/get/parameters", "no name"),
    ],
)
def test_a_broken_part_is_refused_with_its_place(described: dict[str, Any], place: str | None, problem: str) -> None:
    if place is None:
        assert [one.key for one in parse(content(described)).operations] == ["GET /a"]
        return
    with pytest.raises(InvalidRequest, match=problem) as refused:
        parse(content(described))
    assert refused.value.details["field"] == place


def test_operations_need_no_ids() -> None:
    described = library()
    for item in described["paths"].values():
        for method in ("get", "post", "put", "delete"):
            item.get(method, {}).pop("operationId", None)
    assert all(not one.id for one in parse(content(described)).operations)


def test_files_of_the_descriptions_own_folder_are_followed(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/book.yaml").write_text("Book: {type: object, properties: {by: {$ref: 'author.json#/Author'}}}")
    (tmp_path / "parts/author.json").write_text(json.dumps({"Author": {"type": "string"}}))
    described = library()
    described["components"]["schemas"]["Book"] = {"$ref": "./parts/book.yaml#/Book"}
    found = parse(content(described), folder=tmp_path)
    book = found.deref({"$ref": "#/components/schemas/Book"})
    assert found.deref(book["properties"]["by"]) == {"type": "string"}


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("../secret.json#/a", "outside of the description's folder"),
        ("/etc/passwd", "only files of the description's own folder"),
        ("https://example.com/a.json#/a", "only files of the description's own folder"),
        ("link.json#/a", "outside of the description's folder"),
        ("none.json#/a", "which is no file"),
    ],
)
def test_no_reference_leaves_the_folder(tmp_path: Path, target: str, problem: str) -> None:
    folder = tmp_path / "api"
    folder.mkdir()
    (tmp_path / "secret.json").write_text('{"a": {}}')
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    described = library()
    described["components"]["schemas"]["Book"] = {"$ref": target}
    with pytest.raises(InvalidRequest, match=problem):
        parse(content(described), folder=folder)
    with pytest.raises(InvalidRequest, match="only files of the description's own folder"):
        parse(content(described))


def composed(keywords: tuple[str, ...], levels: int = 22) -> dict[str, Any]:
    """A description of which each schema has the next one under each keyword, twice in a list: 2 ** levels in all."""
    described = library()
    schemas: dict[str, Any] = described["components"]["schemas"]
    schemas[f"S{levels}"] = {"properties": {"a": {}}} if keywords[0].endswith("Of") else {"type": "string"}
    for level in range(levels):
        following = {"$ref": f"#/components/schemas/S{level + 1}"}
        lists = {keyword: [following] * 2 for keyword in keywords if keyword.endswith("Of")}
        schemas[f"S{level}"] = dict.fromkeys(keywords, following) | lists
    first = {"$ref": "#/components/schemas/S0"}
    described["paths"] = {"/books": {"post": {"requestBody": takes(first), "responses": answers(first)}}}
    return described


@pytest.mark.parametrize("keywords", [("allOf",), ("oneOf",), ("anyOf",), ("not", "items"), ("if", "then")])
def test_schemas_that_multiply_each_other_are_refused_at_the_budget(
    keywords: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(description, "MAX_COMPOSITION_STEPS", 20_000)
    assert len(content(composed(keywords))) < 5_000
    with pytest.raises(InvalidRequest, match="takes over 20,000 steps") as refused:
        overlay_of(composed(keywords))
    assert refused.value.details["field"] == "#/components/schemas"
    assert overlay_of(composed(keywords, levels=3)).tools


def test_a_long_chain_of_references_is_refused() -> None:
    described = library()
    links = {f"L{link}": {"$ref": f"#/components/schemas/L{link + 1}"} for link in range(60)}
    described["components"]["schemas"] |= {**links, "L60": {"type": "string"}}
    described["paths"]["/books"]["get"]["parameters"][3] = {"$ref": "#/components/schemas/L0"}
    with pytest.raises(InvalidRequest, match="through more than 50 others"):
        parse(content(described))


def test_an_example_of_a_schema_that_multiplies_itself_is_small() -> None:
    levels = {f"S{level}": {"allOf": [{"$ref": f"#/$defs/S{level + 1}"}] * 2} for level in range(40)}
    assert sample({"$ref": "#/$defs/S0"}, levels) is None
    items = {"minLength": 10**12, "type": "string"}
    assert sample({"type": "array", "minItems": 10**12, "items": items}, {}) == ["example".ljust(1_000, "x")] * 20


def test_a_reference_in_an_example_is_only_text() -> None:
    described = library()
    described["components"]["schemas"]["Book"]["example"] = {"$ref": "https://example.com/book"}
    assert parse(content(described)).operations


JSON_VALUES = some.recursive(
    some.one_of(some.none(), some.booleans(), some.integers(-9, 9), some.text(max_size=5), some.just("#/paths")),
    lambda inner: some.one_of(
        some.lists(inner, max_size=2), some.dictionaries(some.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=4,
)


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values within a description."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for key, value in pairs for place in places(value, (*path, key)))]


@settings(max_examples=examples(300), deadline=None)
@given(some.data())
def test_a_malformed_description_is_refused_or_imported_in_part(data: some.DataObject) -> None:
    described = library()
    for _ in range(data.draw(some.integers(1, 3))):
        *path, last = data.draw(some.sampled_from([place for place in places(described) if place]))
        holder: Any = described
        for key in path:
            holder = holder[key]
        holder[last] = data.draw(JSON_VALUES)
    with suppress(InvalidRequest):
        overlay = overlay_of(described)
        assert list(module(overlay).tools) == list(overlay.tools)


def many_files(folder: Path) -> dict[str, Any]:
    """A description as some vendors keep it: an operation a file, whose samples of code are in files elsewhere."""
    (folder / "books").mkdir()
    listed = LIBRARY["paths"]["/books"]["get"] | {
        "x-codeSamples": [{"$ref": "../../../code/books.yml"}],
        "responses": answers({"$ref": "../schemas.json#/Page"}),
    }
    (folder / "books/list.json").write_bytes(content(listed))
    (folder / "books/add.json").write_bytes(content({"operationId": "add", "x": {"$ref": "none.json"}}))
    page = {
        "type": "object",
        "properties": {"books": {"type": "array", "items": {"$ref": "#/components/schemas/Book"}}},
    }
    (folder / "schemas.json").write_bytes(content({"components": LIBRARY["components"], "Page": page}))
    paths = {"/books": {"get": {"$ref": "books/list.json"}, "post": {"$ref": "books/add.json"}}}
    return library(paths=paths, components={"schemas": {"Unused": {"$ref": "gone.json"}}})


def test_operations_in_files_of_their_own_are_chosen_before_what_they_lead_to_is_read(tmp_path: Path) -> None:
    described = many_files(tmp_path)
    for glob in ("listBooks", "Books", "GET /books"):
        found = parse(content(described), folder=tmp_path, operations=[glob])
        assert [one.id for one in found.operations] == ["listBooks"], glob
        (tool,) = propose(found, "library", server=SERVER).tools.values()
        assert (tool.rows, tool.shows[:2]) == ("books", ("id", "title"))
    with pytest.raises(InvalidRequest, match=r"none.json, which is no file"):
        parse(content(described), folder=tmp_path, operations=["add"])


def test_a_description_may_be_larger_than_what_is_chosen_of_it() -> None:
    large = library()
    large["paths"]["/shelves"] = {"get": {"description": "x" * MAX_API_BYTES, "responses": {}}}
    with pytest.raises(InvalidRequest, match="larger than 16 MB"):
        parse(content(large))
    assert [one.id for one in parse(content(large), operations=["listBooks"]).operations] == ["listBooks"]


def test_a_sample_fits_all_parts_of_an_object() -> None:
    # One part requires what the next describes, and a third one narrows.
    parts = {
        "allOf": [
            {"allOf": [{"type": "object", "required": ["type", "number"]}, {"$ref": "#/$defs/Numbered"}]},
            {"type": "object", "properties": {"type": {"enum": ["service_reference"]}, "more": {"enum": ["a"]}}},
        ]
    }
    numbered = {"type": "object", "properties": {"type": {"type": "string"}, "number": {"const": 7}}}
    assert sample(parts, {"Numbered": numbered}) == {"type": "service_reference", "number": 7}
