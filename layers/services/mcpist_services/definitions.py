"""Definitions of modules: their names, and their files in JSON or YAML, which are read with bounds and checked."""

import json
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from mcpist.bounded_yaml import MAX_YAML_VALUES, YamlError, load_yaml
from mcpist.errors import InvalidRequest
from mcpist.strict_json import load_json
from mcpist.validation import parse_model
from mcpist_services import NAMES

MAX_FULL_NAME_CHARACTERS = 64
"""Of `module.tool`: clients make a function's name of it."""
META_TOOLS = frozenset({"get_module_schema", "call", "batch", "get_category_tools", "call_category_tool"})
# Words of addresses and commands, which a module of the same name would hide, or be hidden by.
ROUTE_NAMES = frozenset(
    {
        "automations",
        "callback",
        "categories",
        "clients",
        "confirm",
        "described",
        "kill",
        "login",
        "mcpist",
        "modules",
        "programs",
        "saved",
        "upstream",
    }
)
ModuleName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]

# Headers of the connection and of what its two ends agree on, and those by which proxies choose another destination
# or another method than the request says.
_OWN_HEADERS = frozenset(
    (
        *("accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect"),
        *("forwarded", "host", "if-modified-since", "if-none-match", "keep-alive", "last-event-id"),
        *(
            "mcp-protocol-version",
            "mcp-session-id",
            "proxy-authorization",
            "proxy-connection",
            "range",
            "te",
            "trailer",
        ),
        *("transfer-encoding", "upgrade", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"),
        *("x-http-method", "x-http-method-override", "x-method-override"),
        *("x-original-host", "x-original-url", "x-rewrite-url"),
    )
)
_KEY_HEADERS = frozenset({"authorization", "cookie"})

_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')

# Not the tools' own: the token broker reads definitions, and imports no tool.
type Effect = Literal["reads", "writes", "asks", "destroys"]
type Description = Annotated[str, Field(min_length=1, max_length=1000)]
type Noise = Annotated[
    tuple[Annotated[str, Field(pattern=r"^!?[^!\x00-\x20\x7f]+$", max_length=100)], ...], Field(max_length=50)
]
type ToolName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]


class DefinitionPart(BaseModel):
    """A part of a definition: unknown fields are refused, and errors do not quote a value, which may be a secret."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, hide_input_in_errors=True, use_attribute_docstrings=True
    )

    def dump(self) -> dict[str, Any]:
        """Return it as JSON values, without what has its default."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


class ModuleDefinition(DefinitionPart):
    """A module that one file defines."""

    name: ModuleName


def refuse(place: str, problem: str) -> InvalidRequest:
    """Return the error for a definition, with the place of its problem."""
    return InvalidRequest(field=place, problem=problem)


def load_definition[Definition: ModuleDefinition](
    kind: type[Definition], file: Path, max_bytes: int, taken: Collection[str] = ()
) -> Definition:
    """Return the definition of a file that is named like its module; InvalidRequest names the file and the place."""
    if file.stat().st_size > max_bytes:  # before it is read
        raise refuse(file.name, f"it is larger than {max_bytes:,} bytes")
    values = parse_values(file.read_bytes(), file.name)
    if not isinstance(values, dict):
        raise refuse(file.name, "it is no object")
    try:
        found = parse_model(kind, values)
        if found.name != file.stem:
            raise refuse("name", f"it is {found.name}, and the file is named {file.name}")
        check_module_name(found.name, taken)
    except InvalidRequest as error:
        raise refuse(f"{file.name}: {error.details['field']}", str(error.details["problem"])) from None
    return found


def check_module_name(name: str, taken: Collection[str]) -> None:
    """Refuse one of our own names, and one that another module, service or provider has."""
    if is_own_name(name) or name in taken:
        raise refuse("name", f"{name} is the name of another module, service or provider")


def parse_values(content: bytes, name: str, *, max_values: int = MAX_YAML_VALUES, unique_keys: bool = True) -> Any:
    """Return the values of a file in JSON or YAML; InvalidRequest names the line that is wrong."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"it is no UTF-8 text (byte {error.start}); a compressed file must be unpacked first"
        raise refuse(name, problem) from None
    try:
        if text.lstrip().startswith("{"):
            return _parse_json(text, unique_keys=unique_keys)
        return load_yaml(text, max_values=max_values, unique_keys=unique_keys)
    except json.JSONDecodeError as error:
        raise refuse(f"{name}: line {error.lineno}, column {error.colno}", f"it is no JSON: {error.msg}") from None
    except YamlError as error:
        place = f"{name}: line {error.line}" if error.line else name
        raise refuse(place, f"it is no YAML: {error.problem}") from None
    except ValueError as error:
        raise refuse(name, f"it is no JSON: {error}") from None
    except RecursionError:
        raise refuse(name, "it is nested too deeply") from None


def parse_commented_json(text: str) -> Any:
    """Return the value of JSON with comments and trailing commas; ValueError says the line where it is wrong."""
    # As many spaces take a comment's place, so that the positions in errors stay.
    without = _STRING_OR_COMMENT.sub(
        lambda found: found[0] if found[0][0] == '"' else re.sub(r"\S", " ", found[0]), text
    )
    return _parse_json(_TRAILING_COMMA.sub(lambda found: found[1] or " ", without).removeprefix("\ufeff"))


def _parse_json(text: str, *, unique_keys: bool = True) -> Any:
    return load_json(text, object_pairs_hook=_reject_duplicate_keys if unique_keys else None)


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f'"{key}" stands twice in one object')
        found[key] = value
    return found


def is_reserved_name(name: str) -> bool:
    """Whether a name could be taken for one of our meta-tools or written modules."""
    plain = name.lower().replace("-", "_")
    return plain in META_TOOLS or plain in NAMES


def is_own_name(name: str) -> bool:
    """Whether no module that is defined by data may have a name."""
    return is_reserved_name(name) or name in ROUTE_NAMES


def is_forbidden_header(name: str, *, holds_key: bool = False) -> bool:
    """Whether no definition may set a header; one for keys only where the definition says which key it holds."""
    return name.lower() in _OWN_HEADERS or (name.lower() in _KEY_HEADERS and not holds_key)


def check_full_names(module: str, tools: Iterable[str]) -> None:
    """Raise ValueError for a tool whose name is too long beside its module's."""
    for tool in tools:
        if len(f"{module}.{tool}") > MAX_FULL_NAME_CHARACTERS:
            raise ValueError(f"{module}.{tool} is longer than {MAX_FULL_NAME_CHARACTERS} characters")
