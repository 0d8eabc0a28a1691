"""An overlay as one module of the catalogue, with tools that build the same Calls as written ones."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.files.content import CONTENT_FORMAT, FileContent, file_name, takes_contents
from mcpist.oauth.provider import check_public_url
from mcpist.render.shows import DONE, DOWNLOADED, shows
from mcpist.tools.declare.call import Call, FilePart, Work, path
from mcpist.tools.declare.dialect import HTTP_STANDARD, CredentialPlacement
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.paging import PageRequest, pages, paging_parameters
from mcpist.tools.declare.schema import model_of, parameter_lines, parameters_of, schema_of
from mcpist.tools.declare.schema_tool import SchemaTool
from mcpist.tools.declare.tool import PAGING_PARAMETERS, Example, ModuleMetadata
from mcpist_services.described.graphql_calls import GRAPHQL, each_with_document, with_document
from mcpist_services.described.overlay import FORM_TYPE, MULTIPART_TYPE, Overlay, OverlayParameter, ToolRule
from mcpist_services.described.paging import paging_of
from mcpist_services.described.samples import closure, sample
from mcpist_services.described.secrets import MASKED, masked
from mcpist_services.described.signature import brief
from mcpist_services.described.undos import undo_of
from mcpist_services.described.values import form_value, query_of, segment, text_of

MAX_SIGNATURE_OPTIONS = 6
MAX_SIGNATURE_CHARACTERS = 100  # of its parameters, if the required ones take less

_BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})


def module(overlay: Overlay, *, loopback: bool | None = None) -> Module:
    """Return the module of an overlay; InvalidRequest for a host that this deployment must not send to.

    `loopback` says whether it may be an address of this machine; only a local deployment's may, where it is None.
    """
    try:
        check_public_url(overlay.host, loopback=loopback)
    except ValueError as error:
        raise InvalidRequest(field=f"{overlay.name}.host", problem=str(error)) from None
    security = overlay.security
    placed = "bearer" if security.kind == "none" else security.kind
    found = Module(
        overlay.name,
        overlay.description,
        api_version=overlay.version,
        host=overlay.host,
        needs_account=security.kind != "none",
        kind="api",
        credential=CredentialPlacement(placed, security.parameter, security.prefix),
        category=overlay.category,
        author=overlay.title,
        tags=overlay.tags,
        refusals=GRAPHQL if any(rule.document for rule in overlay.tools.values()) else HTTP_STANDARD,
    )
    about = ModuleMetadata(**found.about)
    for name, rule in overlay.tools.items():
        found.tools[name], found.scopes_by_tool[name] = described_tool(overlay, name, about), rule.scopes
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class DescribedTool(SchemaTool):
    """One operation of an imported API."""

    key: str
    """Its name."""
    rule: ToolRule
    definitions: Mapping[str, Any] = field(repr=False)
    """The schemas that its parameters may refer to."""

    @property
    def name(self) -> str:
        """The name in the overlay."""
        return self.key

    @property
    def description(self) -> str:
        """The overlay's line."""
        return self.rule.description

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, with the shared schemas that they need."""
        properties = {name: one.spec for name, one in self.rule.parameters.items()}
        properties |= paging_properties() if self.paging else {}
        required = [name for name, one in self.rule.parameters.items() if one.required]
        schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        definitions = closure(properties, self.definitions)
        return schema | ({"required": required} if required else {}) | ({"$defs": definitions} if definitions else {})

    @cached_property
    def signature(self) -> str:
        """One line, as a written tool's; of many optional parameters the first, since the schema has all."""
        required = self.input_schema.get("required", [])
        options = [name for name in self.rule.parameters if name not in required]
        lines = self._lines(required, required)
        for place, option in enumerate(self._lines(options, ())):
            if place == MAX_SIGNATURE_OPTIONS or len(", ".join([*lines, option])) > MAX_SIGNATURE_CHARACTERS:
                lines.append(f"...{len(options) - place} more")
                break
            lines.append(option)
        lines += ["...paging"] * (self.paging is not None)
        return f"{self.name}({', '.join(lines)}) -> {', '.join(self.shows.fields)}"

    def _lines(self, names: Iterable[str], required: Collection[str]) -> list[str]:
        specs = {name: brief(self.rule.parameters[name].spec, self.definitions) for name in names}
        return parameter_lines({"properties": specs, "required": required})

    @property
    def examples(self) -> list[Example]:
        """The call with the required arguments alone."""
        least = {name: sample(one.spec, self.definitions) for name, one in self.rule.parameters.items() if one.required}
        brings = f"{self.shows.format}: {', '.join(self.shows.fields)}"
        return [Example(description=self.description, parameters=least, expectedResult=brings)]

    def describe_work(self, arguments: Mapping[str, Any]) -> Work:
        """Return the request, or the requests of a list's pages."""
        document = self.rule.document
        call = self._call({name: value for name, value in arguments.items() if name in self.rule.parameters})
        if self.paging is None:
            return with_document(call, document) if document else call
        wanted = {name: arguments[name] for name in PAGING_PARAMETERS if arguments.get(name) is not None}
        calls = pages(self.module, call, self.paging, self.shows.rows, PageRequest(**wanted))
        return each_with_document(calls, document) if document else calls

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments; InvalidRequest for the mask of a secret, which would take the secret's place."""
        for name, value in arguments.items():
            if MASKED in str(value):
                raise InvalidRequest(field=name, problem="it holds the mask of a secret, and not the secret")
        plain = {name: _without_content(value) for name, value in arguments.items()}
        contents = {name: value for name, value in arguments.items() if plain[name] != value}
        return super().validate(self._with_numbers(plain)) | contents

    def check(self, arguments: Mapping[str, Any], unresolved: Collection[str]) -> None:
        """Refuse arguments that are wrong already, while the values of the `unresolved` fields are not known yet."""
        super().check(self._with_numbers(arguments), unresolved)

    def _with_numbers(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments with numbers for the ids that a path has as such: many answers have them as texts."""
        numbers = {name for name, one in self._of("path") if one.spec.get("type") == "integer"}
        return {
            name: int(value) if name in numbers and isinstance(value, str) and value.isdecimal() else value
            for name, value in arguments.items()
        }

    def masked(self, json: Any) -> Any:
        """Return an answer with its secrets masked, unless the tool is there to show them."""
        return json if self.reveals else masked(json, self.rule.secrets)

    def _call(self, arguments: Mapping[str, Any]) -> Call:
        rule = self.rule
        parts = {one.wire or name: segment(name, arguments[name], one) for name, one in self._of("path")}
        # Vendors' names may be no Python identifiers, as `path` wants them.
        numbered = {name: f"part{number}" for number, name in enumerate(parts)}
        template = rule.path
        for name, place in numbered.items():
            template = template.replace(f"{{{name}}}", f"{{{place}}}")
        query = dict(pair for name, one in self._of("query") for pair in query_of(name, one, arguments))
        headers = {
            one.wire or name: text_of(arguments[name], one.style or "comma")
            for name, one in self._of("header")
            if arguments.get(name) is not None
        }
        # A form names its type itself.
        is_named = rule.content_type in {"", FORM_TYPE, MULTIPART_TYPE}
        typed = {} if is_named else {"content-type": rule.content_type}
        return Call(
            rule.method,  # type: ignore[arg-type]  # the overlay allows Call's methods only
            path(template, **{numbered[name]: value for name, value in parts.items()}),
            query,
            headers={**rule.headers, **headers, **typed},
            download=rule.download,
            **self._body(arguments),
        )

    def _body(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        for name, one in self._of("whole"):
            if name not in arguments:
                return {}
            return {"content": _content(arguments[name])} if _takes_content(one) else {"json": arguments[name]}
        fields = {one.wire or name: arguments[name] for name, one in self._of("body") if name in arguments}
        if self.rule.content_type == FORM_TYPE:
            return {"form": {name: form_value(value) for name, value in fields.items() if value is not None}}
        if self.rule.content_type == MULTIPART_TYPE:
            by_wire = {one.wire or name: one for name, one in self._of("body")}
            parts = {name: value for name, value in fields.items() if value is not None}
            return {"multipart": {name: _part(name, value, by_wire[name]) for name, value in parts.items()}}
        has_body = self.rule.method in _BODY_METHODS and any(True for _ in self._of("body"))
        return {"json": fields} if fields or has_body else {}

    def _of(self, place: str) -> Iterator[tuple[str, OverlayParameter]]:
        return ((name, one) for name, one in self.rule.parameters.items() if one.place == place)


def _without_content(value: Any) -> Any:
    """Return an argument as its schema has it: with a text in the place of a file."""
    if isinstance(value, list):
        return ["" if isinstance(one, FileContent) else one for one in value]
    return "" if isinstance(value, FileContent) else value


def _takes_content(parameter: OverlayParameter) -> bool:
    return parameter.spec.get("format") == CONTENT_FORMAT


def _content(value: Any) -> FileContent:
    return value if isinstance(value, FileContent) else FileContent.of_text(str(value))


def _part(name: str, value: Any, parameter: OverlayParameter) -> FilePart | str | Sequence[FilePart | str]:
    """Return a field of a multipart body: each file by the name that it is stored under, anything else as in a form."""
    if takes_contents(parameter.spec) and isinstance(value, list):
        return [_file_part(name, one) for one in value]
    return _file_part(name, value) if _takes_content(parameter) else form_value(value)


def _file_part(name: str, value: Any) -> FilePart:
    content = _content(value)
    return FilePart(file_name(content.name or name, content.content_type), content)


def described_tool(overlay: Overlay, name: str, about: ModuleMetadata) -> DescribedTool:
    """Return one tool of an overlay."""
    rule = overlay.tools[name]
    fixed = DOWNLOADED if rule.download else DONE if rule.shows == tuple(DONE.fields) else None
    return DescribedTool(
        module=overlay.name,
        key=name,
        rule=rule,
        definitions=overlay.schemas,
        effect=rule.effect,
        shows=fixed or shows(*rule.shows, rows=rule.rows, noise=overlay.noise),
        about=about,
        operation=rule.operation,
        idempotent=rule.method in {"GET", "PUT", "DELETE"},
        reveals=rule.reveals,
        paging=paging_of(rule.paging) if rule.paging else None,
        undo=undo_of(overlay, rule),
    )


@cache
def paging_properties() -> dict[str, Any]:
    """Return the schemas of the parameters that every paged tool has."""
    properties: dict[str, Any] = schema_of(model_of(parameters_of(paging_parameters), "paging"))["properties"]
    return properties
