"""What must hold for every tool of every module."""

from inspect import signature
from urllib.parse import unquote

from jsonschema import Draft202012Validator

from mcpist.caller import Role
from mcpist.errors import InvalidRequest
from mcpist.files.content import CONTENT_FORMAT, FileContent
from mcpist.files.parameters import FILE_FORMAT
from mcpist.tools.access.role_rules import role_permits
from mcpist.tools.declare.argument_types import LEGENDS
from mcpist.tools.declare.call import Call, Lookup, Work
from mcpist.tools.declare.paging import MAX_ITEMS
from mcpist.tools.declare.schema import example_of
from mcpist.tools.declare.tool import PAGING_PARAMETERS, Tool
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.files.lines import MAX_PART_BYTES
from tests.faults import for_each

MOST_NAME_CHARACTERS = 63
SELF_EVIDENT = {"limit", "issue_number", "pull_number"}
EFFECTS = {"get": "reads", "list": "reads", "search": "reads", "create": "writes", "add": "writes", "update": "writes"}
EFFECTS |= {"delete": "destroys", "trash": "destroys", "merge": "destroys"}

# Objects whose fields no declaration can know.
OWN_FIELDS = {
    "github.dispatch_workflow inputs": "the workflow declares them",
    "jira.create_issue fields": "custom fields by the ids of list_fields",
    "jira.transition_issue fields": "the transition's screen has them",
    "jira.update_issue fields": "custom fields by the ids of list_fields",
    "notion.create_database properties": "the names of columns",
    "notion.create_page properties": "the names of the database's columns",
    "notion.update_data_source properties": "the names of columns",
    "notion.update_data_source rename": "the names of columns",
    "notion.update_page properties": "the names of the database's columns",
    "supabase.delete filters": "the names of the table's columns",
    "supabase.insert rows": "the names of the table's columns",
    "supabase.rpc args": "the function's own arguments",
    "supabase.select filters": "the names of the table's columns",
    "supabase.update filters": "the names of the table's columns",
    "supabase.update values": "the names of the table's columns",
}

TOOLS = {f"{name}.{tool.name}": tool for name in NAMES for tool in CATALOGUE.module(name).tools.values()}
for_every_tool = for_each("tool", TOOLS)
for_every_module = for_each("name", NAMES)


def test_module_names_are_sorted_and_each_module_has_its_own() -> None:
    assert list(NAMES) == sorted(NAMES)
    assert [CATALOGUE.module(name).name for name in NAMES] == list(NAMES)


@for_every_module
def test_a_module_is_described_in_one_line(name: str) -> None:
    module = CATALOGUE.module(name)
    assert module.description.endswith(".")
    assert module.api_version
    assert [*map(bool, (module.host, module.open_store, module.open_account, module.accounts_of()))].count(True) == 1


@for_every_tool
def test_names_are_short_enough_for_every_client(tool: Tool) -> None:
    names = [f"{tool.module}.{tool.name}", *tool.input_schema["properties"]]
    assert not [name for name in names if len(name) > MOST_NAME_CHARACTERS]


@for_every_tool
def test_the_description_begins_with_a_sentence(tool: Tool) -> None:
    first = tool.description.partition("\n")[0]
    assert first[0].isupper() and first.endswith("."), f"no sentence: {first!r}"  # noqa: PT018


@for_every_tool
def test_every_parameter_is_described_or_self_evident(tool: Tool) -> None:
    unclear = {
        name
        for name, spec in tool.input_schema["properties"].items()
        if not spec.get("description") and "enum" not in spec and name not in SELF_EVIDENT
    }
    assert not unclear, f"describe {unclear} in Annotated, with an example after e.g."


@for_every_tool
def test_the_schema_is_valid_closed_and_without_titles(tool: Tool) -> None:
    Draft202012Validator.check_schema(tool.input_schema)
    assert tool.input_schema["additionalProperties"] is False
    assert not any("title" in schema for schema in _schemas(tool.input_schema))
    assert not any("$ref" in schema for schema in _schemas(tool.input_schema))


@for_every_tool
def test_the_fields_of_every_object_are_known(tool: Tool) -> None:
    opaque = {
        f"{tool.module}.{tool.name} {name}"
        for name, spec in tool.input_schema["properties"].items()
        if any(one.get("type") == "object" and not one.get("properties") for one in _values_of(spec))
    }
    excused = {excuse for excuse in OWN_FIELDS if excuse.startswith(f"{tool.module}.{tool.name} ")}
    assert opaque == excused, "declare the fields, or name in OWN_FIELDS who knows them"


@for_every_tool
def test_lists_are_bounded(tool: Tool) -> None:
    limit = tool.input_schema["properties"].get("limit")
    most = MAX_PART_BYTES if tool.name == "read" else MAX_ITEMS  # of a text's lines or bytes, else of items
    assert limit is None or (limit["minimum"], limit["maximum"]) == (1, most)


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
def test_a_tool_does_what_its_verb_says(tool: Tool) -> None:
    verb = tool.name.partition("_")[0]
    assert tool.effect == EFFECTS.get(verb, tool.effect), f"by {verb!r} a tool {EFFECTS[verb]}"


@for_every_tool
def test_a_tool_of_a_service_names_its_operation(tool: Tool) -> None:
    assert bool(tool.operation) == bool(CATALOGUE.module(tool.module).host), "the decorator's second argument names it"


@for_every_tool
def test_every_example_is_valid(tool: Tool) -> None:
    for example in tool.examples:
        tool.validate(example["parameters"])
        assert example["description"]
        assert example["expectedResult"]


@for_every_tool
def test_every_tool_has_complete_metadata(tool: Tool) -> None:
    assert not [word for word in ("version", "category", "author", "tags") if not tool.about[word]]


@for_every_tool
def test_a_tool_that_shows_secrets_is_off_until_a_role_allows_it(tool: Tool) -> None:
    role = Role("members", modules=(tool.module,))
    assert role_permits(role, tool) == (tool.reads and not tool.reveals)


@for_every_tool
def test_describing_the_work_of_minimal_arguments_has_no_side_effects(tool: Tool) -> None:
    arguments = tool.validate(tool.examples[0]["parameters"])
    assert isinstance(_first(tool.describe_work(arguments)), Call | Lookup)


@for_every_tool
def test_no_argument_leaves_its_place_in_the_path(tool: Tool) -> None:
    call = _hostile(tool, "a b/ü?x=1#y%2e")
    if isinstance(call, Call):
        assert call.path.isascii()
        assert not set(" ?#") & set(call.path)
        assert "" not in call.path[1:].split("/")


@for_every_tool
def test_no_argument_leaves_its_place_by_dots(tool: Tool) -> None:
    call = _hostile(tool, "../../user")
    assert ".." not in unquote(call.path if isinstance(call, Call) else "")


@for_every_tool
def test_no_argument_is_empty_in_a_path(tool: Tool) -> None:
    call = _hostile(tool, "")
    assert not isinstance(call, Call) or "//" not in call.path


@for_every_module
def test_every_module_offers_resources_and_prompts(name: str) -> None:
    module = CATALOGUE.module(name)
    # The resource of files is the endpoint's: mcpist://files/{sha256}; changes are taken back by a batch.
    assert module.resources or name in {"changes", "files"}
    assert module.prompts or name == "changes"
    for resource in module.resources.values():
        assert resource.template.partition("://")[0] == name.replace("_", "-")
        assert resource.description.endswith(".")
        takes = resource.tool.input_schema["properties"]
        is_named = resource.arguments_of is not dict
        assert set(resource.variables) <= set(signature(resource.arguments_of).parameters if is_named else takes)
    for prompt in module.prompts.values():
        assert prompt.description.endswith(".")
        assert prompt.tools
        words = {name: str(example_of(spec)) for name, spec in prompt.input_schema["properties"].items()}
        assert all(f"{name}.{tool.name}" in prompt.render(words) for tool in prompt.tools)


@for_every_module
def test_every_completed_argument_belongs_to_a_prompt_or_a_resource(name: str) -> None:
    module = CATALOGUE.module(name)
    known = {variable for resource in module.resources.values() for variable in resource.variables}
    known |= {word for prompt in module.prompts.values() for word in prompt.input_schema["properties"]}
    assert set(module.completions) <= known
    assert all(column in tool.shows.fields for tool, column in module.completions.values())


def _first(work: Work) -> Call | Lookup:
    """The work itself, or the first Call of several."""
    return work if isinstance(work, Call | Lookup) else next(work)


def _hostile(tool: Tool, text: str) -> Call | Lookup | None:
    """What a tool makes of arguments whose every free text is this, past its schema; None if it refuses them."""
    own = [name for name in tool.input_schema["properties"] if not tool.paging or name not in PAGING_PARAMETERS]
    samples = {name: _sample(tool.input_schema["properties"][name], text) for name in own}
    try:
        return _first(tool.function(**samples))
    except InvalidRequest:
        return None


def _sample(spec: dict, text: str) -> object:
    """A value of a parameter; every free text is `text`."""
    if "enum" in spec:
        return spec["enum"][0]
    if spec.get("type") == "array" and spec["items"].get("type", "object") != "object":
        return [_sample(spec["items"], text)]
    if spec.get("format") == CONTENT_FORMAT:
        return FileContent.of_text(text)
    is_free = spec.get("type") == "string" and spec.get("format") not in LEGENDS  # the type makes a time of the others
    return text if is_free else example_of(spec)


def _values_of(spec: dict) -> list[dict]:
    """The schemas of a parameter's own value, and of the items of its list."""
    options = spec.get("anyOf", [spec])
    # Instead of its path, a file may be named by the reference that an answer shows, with all its fields.
    plain = [option for option in options if spec.get("format") != FILE_FORMAT or option.get("type") != "object"]
    return [
        item
        for option in plain
        for item in ([option] if option.get("type") != "array" else _values_of(option["items"]))
    ]


def _schemas(schema: dict) -> list[dict]:
    """A schema and all that it holds."""
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
    inner += [schema["items"]] if isinstance(schema.get("items"), dict) else []
    return [schema, *(found for part in inner for found in _schemas(part))]
