"""What must hold for every tool of every module."""

from urllib.parse import unquote

import pytest
from jsonschema import Draft202012Validator

from mcpist.errors import InvalidRequest
from mcpist.tools.call import Call, Lookup, Work
from mcpist.tools.tool import Tool
from mcpist_modules import CATALOGUE, NAMES

MOST_NAME_CHARACTERS = 63
SELF_EVIDENT = {"limit", "issue_number", "pull_number"}
HOSTILE = "a b/ü?x=1#y%2e"

TOOLS = [
    pytest.param(tool, id=f"{name}.{tool.name}") for name in NAMES for tool in CATALOGUE.module(name).tools.values()
]
for_every_tool = pytest.mark.parametrize("tool", TOOLS)


def test_module_names_are_sorted_and_each_module_bears_its_own() -> None:
    assert list(NAMES) == sorted(NAMES)
    assert [CATALOGUE.module(name).name for name in NAMES] == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_module_says_what_it_is_in_one_line(name: str) -> None:
    module = CATALOGUE.module(name)
    assert module.description.endswith(".")
    assert module.api_version
    assert bool(module.host) != bool(module.opens)


@for_every_tool
def test_names_are_short_enough_for_every_client(tool: Tool) -> None:
    assert len(f"{tool.module}.{tool.name}") <= MOST_NAME_CHARACTERS
    assert all(len(name) <= MOST_NAME_CHARACTERS for name in tool.input_schema["properties"])


@for_every_tool
def test_the_description_begins_with_a_sentence(tool: Tool) -> None:
    first = tool.description.partition("\n")[0]
    assert first[0].isupper()
    assert first.endswith(".")


@for_every_tool
def test_every_parameter_is_described_or_self_evident(tool: Tool) -> None:
    unclear = {
        name
        for name, spec in tool.input_schema["properties"].items()
        if not spec.get("description") and "enum" not in spec and name not in SELF_EVIDENT
    }
    assert not unclear


@for_every_tool
def test_the_schema_is_valid_closed_and_without_titles(tool: Tool) -> None:
    Draft202012Validator.check_schema(tool.input_schema)
    assert tool.input_schema["additionalProperties"] is False
    assert not any("title" in schema for schema in _schemas(tool.input_schema))
    assert not any("$ref" in schema for schema in _schemas(tool.input_schema))


@for_every_tool
def test_lists_are_bounded(tool: Tool) -> None:
    limit = tool.input_schema["properties"].get("limit")
    assert limit is None or (limit["minimum"], limit["maximum"]) == (1, 500)


@for_every_tool
def test_the_signature_is_one_line(tool: Tool) -> None:
    assert tool.signature.startswith(f"{tool.name}(")
    assert len(tool.signature.splitlines()) == 1


@for_every_tool
def test_the_answer_has_columns_and_its_text_is_one_of_them(tool: Tool) -> None:
    assert tool.shows.fields
    assert len(set(tool.shows.fields)) == len(tool.shows.fields)
    assert not tool.shows.text or tool.shows.text in tool.shows.fields


@for_every_tool
def test_describing_the_work_of_the_least_arguments_does_nothing_else(tool: Tool) -> None:
    properties, required = tool.input_schema["properties"], tool.input_schema.get("required", [])
    arguments = tool.validate({name: _sample(properties[name], "word") for name in required})
    assert isinstance(_first(tool.describe_work(arguments)), Call | Lookup)


@for_every_tool
def test_no_argument_leaves_its_place_in_the_path(tool: Tool) -> None:
    call = _first(tool.function(**_samples(tool, HOSTILE)))
    if isinstance(call, Call):
        assert call.path.isascii()
        assert not set(" ?#") & set(call.path)
        assert "" not in call.path[1:].split("/")


@for_every_tool
def test_no_argument_climbs_out_of_its_place(tool: Tool) -> None:
    try:
        call = _first(tool.function(**_samples(tool, "../../user")))
    except InvalidRequest:
        return
    assert ".." not in unquote(call.path if isinstance(call, Call) else "")


def _first(work: Work) -> Call | Lookup:
    """The work itself, or the first Call of several."""
    return work if isinstance(work, Call | Lookup) else next(work)


def _samples(tool: Tool, text: str) -> dict[str, object]:
    """A value for every parameter."""
    return {name: _sample(spec, text) for name, spec in tool.input_schema["properties"].items()}


def _sample(spec: dict, text: str) -> object:
    """A value of a parameter; every free text is `text`."""
    if "enum" in spec:
        return spec["enum"][0]
    if spec["type"] == "array":
        return [_sample(spec["items"], text)]
    return spec.get("minimum", 1) if spec["type"] == "integer" else text


def _schemas(schema: dict) -> list[dict]:
    """A schema and all that it holds."""
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    inner += [schema["items"]] if isinstance(schema.get("items"), dict) else []
    return [schema, *(found for part in inner for found in _schemas(part))]
