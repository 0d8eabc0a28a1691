"""Overlay: how an imported API is offered as a module; proposed by the import, corrected by people.

It is one file, complete in itself: the description that it was made from is not needed to run its tools.
"""

from collections.abc import Mapping
from typing import Any, Literal, Self
from urllib.parse import unquote

from pydantic import Field, field_validator, model_validator

from mcpist.validation import parse_model
from mcpist_services.definitions import (
    DefinitionPart,
    Effect,
    ModuleDefinition,
    Noise,
    ToolName,
    check_full_names,
    is_forbidden_header,
)
from mcpist_services.described.account_rule import HEADER_NAME, AccountRule, Security, Url
from mcpist_services.described.hook_rule import HookRule, WebhookRule
from mcpist_services.described.paths import path_parameters

MAX_SHOWN_COLUMNS = 8
FORM_TYPE = "application/x-www-form-urlencoded"
MULTIPART_TYPE = "multipart/form-data"

type Place = Literal["path", "query", "header", "body", "whole"]
type Style = Literal["", "comma", "space", "pipe", "deep", "form", "json", "segments"]
type PagingKind = Literal["cursor", "link", "next_url", "offset", "page"]


class OverlayParameter(DefinitionPart):
    """One argument of a tool, and where the request has it."""

    place: Place = Field(alias="in")
    """`whole` is the whole body; a schema of the format `file-content` takes a text or a file."""
    wire: str = Field("", alias="as")
    """The vendor's name, where it is another than the argument's."""
    required: bool = False
    style: Style = ""
    """How a list or an object is written into an address; empty repeats the parameter."""
    spec: dict[str, Any] = Field(default_factory=dict, alias="schema")
    """Its JSON Schema."""


class PagingRule(DefinitionPart):
    """The paging of a list."""

    kind: PagingKind
    size: str = ""
    """The parameter for the number of items of a page; empty where there is none."""
    max_size: int = Field(50, ge=1, le=500)
    position: tuple[str, ...] = Field(min_length=1)
    """The parameters that say where a page begins."""
    field: str = ""
    """The answer's field with the next cursor, the next address, or the number of all items."""
    more: str = ""
    """The answer's field that says whether there is more."""
    first: int = Field(1, ge=0, le=1)
    """The number of the first page."""


class UndoRule(DefinitionPart):
    """The undo of a tool that creates something."""

    tool: ToolName
    """The tool that removes what was made."""
    arguments: dict[str, str]
    """Its arguments, each the path of a value: `answer.data.id`, `arguments.project`."""
    read: ToolName
    """The tool that reads what was made, with the same arguments."""
    fields: dict[str, str] = Field(min_length=1)
    """The paths at which both answers have what was written: it is removed only where nobody has changed them."""


class ToolRule(DefinitionPart):
    """One operation as a tool."""

    operation: str = Field(pattern=r"^(GET|POST|PUT|PATCH|DELETE) /")
    description: str = Field(max_length=1000)
    effect: Effect
    reveals: bool = False
    """Whether its answer shows secrets; else they are masked."""
    secrets: tuple[str, ...] = ()
    """Fields of its answer that are masked besides those whose names say so; `!name` keeps one as it is."""
    content_type: str = Field("", pattern=r"^[A-Za-z0-9!#$&^_.+/-]*$")
    """The type of its body, where it is no plain JSON."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers of its request that are always the same."""
    document: str = Field("", max_length=50_000)
    """The GraphQL document that its body sends, with the parameters as variables."""
    parameters: dict[str, OverlayParameter] = Field(default_factory=dict)
    rows: str = ""
    """The path of the list in its answer."""
    download: bool = False
    """Whether its answer is kept as a file; then it shows `file` and `preview`."""
    shows: tuple[str, ...] = Field(min_length=1)
    """The columns of its compact answer: `owner.login as owner`; `*` shows every field."""
    paging: PagingRule | None = None
    scopes: tuple[str, ...] = ()
    deprecated: bool = False
    undo: UndoRule | None = None
    review: tuple[str, ...] = ()
    """What the import was unsure of; delete a line when it is settled."""

    @property
    def method(self) -> str:
        """The method of its request."""
        return self.operation.partition(" ")[0]

    @property
    def path(self) -> str:
        """The template of its path; what follows a `#` only tells variants of one operation apart."""
        return self.operation.partition(" ")[2].partition("#")[0]

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, headers: Mapping[str, str]) -> Mapping[str, str]:
        for name in headers:
            if not HEADER_NAME.fullmatch(name) or is_forbidden_header(name):
                raise ValueError(f"{name[:100]} is no header that a tool may set")
        return headers

    @model_validator(mode="after")
    def _check_path(self) -> Self:
        if {".", ".."} & set(unquote(self.path).split("/")):
            raise ValueError("no segment of its path may be . or ..")
        wanted = set(path_parameters(self.path))
        given = {one.wire or name for name, one in self.parameters.items() if one.place == "path"}
        if wanted != given:
            raise ValueError(f"the path needs {sorted(wanted)}, and its parameters give {sorted(given)}")
        for name, one in self.parameters.items():
            if one.place == "header" and is_forbidden_header(one.wire or name):
                raise ValueError(f"{name} is no header that a tool may set")
        return self


class ImportTrial(DefinitionPart):
    """The tools of an import on the API's mock, as the last import has tried them."""

    chains: int = 0
    """The collections whose tools were tried in turn: create, list, get, update, delete."""
    passed: int = 0
    """The chains that passed."""
    untried: int = 0
    """The collections with no answer that has an id, by the description."""
    problems: dict[ToolName, str] = Field(default_factory=dict)
    """By tool: it shows no id, no data or a secret, or cannot be called."""


class Overlay(ModuleDefinition):
    """An imported API."""

    title: str = Field(min_length=1, max_length=100)
    description: str = Field(max_length=1000)
    version: str = ""
    source: str = ""
    """The file or the address that was imported."""
    description_hash: str = ""
    operations: tuple[str, ...] = ()
    """The globs that chose the operations; empty chooses all."""
    host: Url
    """The address before the paths; the credential goes to no other."""
    security: Security = Security()
    rate_limits: tuple[str, ...] = ()
    """What the description states of limits."""
    category: str = "imported"
    tags: tuple[str, ...] = ()
    noise: Noise = ()
    """Fields of answers that a model need not read: `node_id`, `*_url`, `user.url`, or `!html_url` to keep one."""
    review: tuple[str, ...] = ()
    tools: dict[ToolName, ToolRule] = Field(min_length=1)
    left_out: dict[str, str] = Field(default_factory=dict)
    """The operations that are no tools, each with the reason."""
    hooks: HookRule | None = None
    """How its webhooks are verified; without it they are no event types."""
    webhooks: dict[ToolName, WebhookRule] = Field(default_factory=dict)
    """Its webhooks, as event types."""
    schemas: dict[str, Any] = Field(default_factory=dict)
    """Schemas that parameters refer to as `#/$defs/NAME`."""
    trial: ImportTrial = ImportTrial()
    proposed: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Fingerprints of what the import proposed: what differs from them, a person corrected."""

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        check_full_names(self.name, self.tools)
        seen: dict[str, str] = {}
        for name, tool_rule in self.tools.items():
            if other := seen.get(tool_rule.operation):
                raise ValueError(f"{other} and {name} are the same operation")
            seen[tool_rule.operation] = name
        if self.hooks and (self.hooks.tool not in self.tools or self.tools[self.hooks.tool].effect != "reads"):
            raise ValueError(f"hooks: {self.hooks.tool} is no tool that reads")
        return self

    @property
    def account(self) -> AccountRule:
        """The way to connect its accounts."""
        scopes = dict.fromkeys(scope for rule in self.tools.values() for scope in rule.scopes)
        return AccountRule(name=self.name, title=self.title, security=self.security, scopes=tuple(scopes))


def load_overlay(values: Mapping[str, Any]) -> Overlay:
    """Return an overlay from its JSON values; InvalidRequest names the first field that is wrong."""
    return parse_model(Overlay, values)
