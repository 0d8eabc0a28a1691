"""Declarations: a set of command-line programs as one module, in one JSON file.

The command line follows the binding of the Common Workflow Language, version 1.2, section 4.1 "Input binding":
https://www.commonwl.org/v1.2/CommandLineTool.html#Input_binding
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, StringConstraints, Tag, field_validator, model_validator

from mcpist.files.parameters import takes_file
from mcpist.programs.messages import ContentType, FileName
from mcpist_services.definitions import (
    DefinitionPart,
    Description,
    Effect,
    ModuleDefinition,
    ToolName,
    check_full_names,
)

# They become names of files, in front of which no dash can stand.
INPUT_NAME = r"^[A-Za-z_][A-Za-z0-9_]{0,63}$"
MAX_PROGRAM_SECONDS = 25
"""The longest time that one run may take: the functions in front of it have 29 s."""
DEFAULT_SECONDS = 15.0

Word = Annotated[str, StringConstraints(max_length=4_000, pattern=r"^[^\x00]*$")]

_SCALARS = frozenset({"string", "integer", "number", "boolean"})


class _Prefixed(DefinitionPart):
    prefix: Word = ""
    """What comes before the value, such as `--title`."""
    separate: bool = True
    """Whether the prefix is a word of its own; false for `--title=`."""

    @model_validator(mode="after")
    def _check_separate(self) -> Self:
        if not self.separate and not self.prefix:
            raise ValueError("separate: false needs a prefix")
        return self


class ItemBinding(_Prefixed):
    """How each item of a list is written: a prefix here is repeated before each of them."""


class Binding(_Prefixed):
    """The place of an input in the command line."""

    input: Annotated[str, StringConstraints(pattern=INPUT_NAME)]
    """The name of a property of the schema."""
    position: int = 0
    """Words are sorted by it; those of one position stay in the order in which they are written here."""
    item_separator: Annotated[Word | None, Field(alias="itemSeparator", min_length=1)] = None
    """What joins the items of a list to one word; without it each item is a word."""
    items: ItemBinding | None = None
    """How each item of a list is written."""


def _kind(word: Any) -> str:
    """Return the kind of argument that an entry of a command line is meant to be."""
    return "word" if isinstance(word, str) else "binding"


type CommandWord = Annotated[Annotated[Word, Tag("word")] | Annotated[Binding, Tag("binding")], Discriminator(_kind)]


class OutputDeclaration(DefinitionPart):
    """Files that a run leaves."""

    glob: FileName
    """Their names in the run's folder, such as `*.md`."""
    content_type: ContentType
    required: bool = True
    """Whether a run that leaves none has failed."""


class StdoutRule(DefinitionPart):
    """The use of the standard output."""

    to: Literal["auto", "metadata", "file", "nothing"] = "auto"
    """`auto`: JSON goes to the answer's metadata, any other text to a file."""
    content_type: ContentType = "text/plain"
    """The type of the file."""


class ToolDeclaration(DefinitionPart):
    """One use of a program as a tool."""

    name: ToolName
    description: Description
    input_schema: Annotated[dict[str, Any], Field(alias="inputSchema")]
    """The JSON Schema of the arguments. A property with `"format": "file-reference"` takes a file."""
    effect: Effect
    """What it does outside of its own run: a program that only makes files from files `reads`."""
    argv: Annotated[tuple[CommandWord, ...], Field(min_length=1)]
    """The command line: words, and the places of inputs; the first word is the program."""
    reads_files: bool = False
    """Whether the language of its inputs can name files to read: `import` of jq, an image of a document."""
    stdin: Annotated[str, StringConstraints(pattern=INPUT_NAME)] | None = None
    """The input that the program reads: a file's content, a text as it is, any other value as JSON."""
    stdout: StdoutRule = StdoutRule()
    outputs: Annotated[tuple[OutputDeclaration, ...], Field(max_length=20)] = ()
    success_codes: Annotated[tuple[Annotated[int, Field(ge=0, le=255)], ...], Field(alias="successCodes")] = (0,)
    """The exit codes of success: `grep` and `rg` end with 1 where nothing is found."""
    timeout_seconds: Annotated[float, Field(gt=0, le=MAX_PROGRAM_SECONDS)] = DEFAULT_SECONDS
    shows: Annotated[tuple[str, ...], Field(min_length=1)] = ("outputs", "metadata")
    """The columns of the compact answer, such as `metadata.words as words`."""

    @property
    def program(self) -> str:
        """The first word of the command line."""
        return str(self.argv[0])

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """The places of inputs."""
        return tuple(word for word in self.argv if isinstance(word, Binding))

    @property
    def properties(self) -> dict[str, Any]:
        """The schemas of the inputs."""
        found: dict[str, Any] = self.input_schema.get("properties", {})
        return found

    @field_validator("argv")
    @classmethod
    def _check_program(cls, argv: tuple[str | Binding, ...]) -> tuple[str | Binding, ...]:
        program = argv[0]
        if not isinstance(program, str) or not program or program.startswith(("-", "/")) or ".." in program.split("/"):
            raise ValueError("the first word is the program: a name, or a path in the module's own folder")
        return argv

    @field_validator("input_schema")
    @classmethod
    def _complete_schema(cls, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema of an object without unknown fields, whose files are references."""
        properties = schema.get("properties", {})
        if schema.get("type", "object") != "object" or not isinstance(properties, dict):
            raise ValueError("it must be the schema of an object with properties")
        if wrong := [name for name, spec in properties.items() if not isinstance(spec, dict)]:
            raise ValueError(f"the property {wrong[0]} has no schema")
        if unknown := [name for name in schema.get("required", ()) if name not in properties]:
            raise ValueError(f"{unknown[0]} is required, but is no property")
        completed = {name: _with_file_type(spec) for name, spec in properties.items()}
        return {"type": "object", **schema, "properties": completed, "additionalProperties": False}

    @model_validator(mode="after")
    def _check_inputs(self) -> Self:
        for binding in self.bindings:
            self._check_binding(binding)
        used = {*(binding.input for binding in self.bindings), *filter(None, [self.stdin])}
        if self.stdin is not None and self.stdin not in self.properties:
            raise ValueError(f"stdin: {self.stdin} is no property of the schema")
        if unused := [name for name in self.properties if name not in used]:
            raise ValueError(f"the input {unused[0]} is used neither by argv nor by stdin")
        return self

    def _check_binding(self, binding: Binding) -> None:
        spec = self.properties.get(binding.input)
        if spec is None:
            raise ValueError(f"argv: {binding.input} is no property of the schema")
        kinds = kinds_of(spec)
        if kinds == {"boolean"} and not binding.prefix:
            raise ValueError(f"argv: {binding.input} is a boolean, which needs the prefix that it switches on")
        is_list = kinds == {"array"}
        if not is_list and (binding.item_separator or binding.items):
            raise ValueError(f"argv: {binding.input} is no list")
        inner = spec.get("items", {}) if is_list else spec
        if not takes_file(inner) and not (kinds_of(inner) and kinds_of(inner) <= _SCALARS):
            raise ValueError(
                f"argv: {binding.input} must be text, numbers, booleans or files, or a list of one of them"
            )


class Declaration(ModuleDefinition):
    """A set of programs as one module."""

    schema_: Annotated[str, Field(alias="$schema")] = ""
    description: Description
    version: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    """The version of the programs."""
    category: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,31}$")] = "programs"
    author: Annotated[str, StringConstraints(max_length=200)] = ""
    tags: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    synonyms: Annotated[str, StringConstraints(max_length=4_000)] = ""
    """Lines of words that people search by, such as `novel, chapter: episode`."""
    tools: Annotated[tuple[ToolDeclaration, ...], Field(min_length=1, max_length=100)]

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        names = [tool.name for tool in self.tools]
        if double := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"there are two tools {double[0]}")
        check_full_names(self.name, names)
        return self


def kinds_of(spec: Any) -> set[str]:
    """Return the JSON types of an input, without null."""
    options = [spec, *spec.get("anyOf", ()), *spec.get("oneOf", ())] if isinstance(spec, dict) else []
    named = [option.get("type", ()) for option in options if isinstance(option, dict)]
    values = [type(value) for option in options if isinstance(option, dict) for value in option.get("enum", ())]
    kinds = {kind for one in named for kind in ([one] if isinstance(one, str) else one)}
    return (kinds or {_KINDS[kind] for kind in values if kind in _KINDS}) - {"null"}


_KINDS = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _with_file_type(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an input in which a file is a path, a hash, or a reference."""
    if spec.get("type") == "array" and takes_file(spec.get("items")):
        return {**spec, "items": _with_file_type(spec["items"])}
    return {"type": ["string", "object"], **spec} if takes_file(spec) else spec
