"""A GraphQL schema in the shape of OpenAPI 3: each field of a query or a mutation is an operation with fixed fields.

Reference: https://spec.graphql.org/October2021/
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcpist.errors import InvalidRequest
from mcpist_services.definitions import refuse
from mcpist_services.described.budget import ImportBudget
from mcpist_services.described.wording import actions, words

if TYPE_CHECKING:
    from graphql import GraphQLField, GraphQLNamedType, GraphQLSchema

DOCUMENT = "x-mcpist-document"
"""The extension with an operation's GraphQL document."""
GRAPHQL_PATH = "/graphql"
MAX_TEXTS = 30  # and numbers, of one object
MAX_OBJECTS = 16  # in one object
MAX_MEMBERS = 8  # of a union
MAX_SELECTION_ENVELOPES = 3  # around what was asked for: pages, edges, the answer of a mutation
MAX_SDL_BYTES = 16_000_000
MAX_SDL_TOKENS = 1_000_000  # the library reads about 100,000 of them in a second
MAX_DOCUMENTS_CHARACTERS = 50_000_000  # of all operations; a few long names can be in each of a million

# Nothing is tried again: a line of many # has as many readings as it has parts.
_SDL = re.compile(
    r'(?:\s+|#[^\n]*+|"""(?:[^"]|"(?!""))*+""")*+(?:schema|type|directive|scalar|enum|interface|input|union)\b'
)
_NAMED = ("id", "identifier", "key", "number", "name", "displayName", "title", "login", "email", "url", "message")
_NAMED_BY = {"name", "displayName", "title", "login"}
_SCALARS = {"Int": "integer", "Float": "number", "Boolean": "boolean", "String": "string", "ID": "string"}
_PAGE_INFO = {"hasNextPage": "boolean", "endCursor": "string"}
_TEXT_SCALAR = re.compile(r"(Time|Date|UR[IL]|ID|Id|Email|HTML|Markdown|Oid)$")
_USER_ERRORS = ("userErrors", "errors")  # of a mutation: asked for, and read as errors
_IGNORED = {"clientMutationId"}  # an echo of the request
_BACKWARDS = {"last", "before"}
_ASIDE = re.compile(r"\s*\[(internal|deprecated)\b", re.IGNORECASE)  # vendors mark fields so that are not for others


class Document(str):
    """A GraphQL document that was made here: a vendor's own `x-mcpist-document` is none, so it is never sent."""

    __slots__ = ()


def is_sdl(content: bytes) -> bool:
    """Whether a file is a schema in GraphQL's own language."""
    text = content[:100_000].decode(errors="replace").removeprefix("\ufeff")
    return _SDL.match(text) is not None and not text.lstrip().startswith(("type:", "schema:"))


def is_introspection(root: Mapping[str, Any]) -> bool:
    """Whether a document is the answer to an introspection."""
    return "__schema" in root or (isinstance(root.get("data"), dict) and "__schema" in root["data"])


def from_sdl(content: bytes, budget: ImportBudget | None = None) -> dict[str, Any]:
    """Return a schema in GraphQL's own language in the shape of OpenAPI 3; InvalidRequest where it is none."""
    if len(content) > MAX_SDL_BYTES:
        raise refuse("description", f"it is larger than {MAX_SDL_BYTES // 1_000_000} MB")
    options: dict[str, Any] = {"assume_valid_sdl": True, "no_location": True, "max_tokens": MAX_SDL_TOKENS}
    return _as_openapi(lambda graphql: graphql.build_schema(content.decode(), **options), budget or ImportBudget())


def from_introspection(root: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to an introspection in the shape of OpenAPI 3; InvalidRequest where it is none."""
    data: Any = root if "__schema" in root else root["data"]
    return _as_openapi(lambda graphql: graphql.build_client_schema(data), ImportBudget())


def _as_openapi(build: "Callable[[Any], GraphQLSchema]", budget: ImportBudget) -> dict[str, Any]:
    """Return a schema that the library `graphql` builds; only where APIs are imported it is installed."""
    try:
        import graphql
    except ModuleNotFoundError:
        problem = "a GraphQL schema is read by `mcpist api import` alone, with the package's extra local"
        raise refuse("description", problem) from None

    try:
        return _converted(build(graphql), budget)
    except InvalidRequest:
        raise
    # A schema may use a type where none of its kind can be.
    except (graphql.GraphQLError, AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise refuse("description", f"it is no GraphQL schema: {str(error).partition(chr(10))[0][:200]}") from None


def _converted(schema: "GraphQLSchema", budget: ImportBudget) -> dict[str, Any]:
    made = _Converter(budget)
    roots = {"query": schema.query_type, "mutation": schema.mutation_type}
    fields = {kind: root.fields if root else {} for kind, root in roots.items()}
    shared = fields["query"].keys() & fields["mutation"].keys()
    paths = {
        path: {"post": {"operationId": f"{kind}.{name}" if name in shared else name} | operation}
        for kind in roots
        for name, field in fields[kind].items()
        if _is_offered(field)
        for path, operation in [made.operation(kind, name, field)]
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": "GraphQL API", "version": "", "description": schema.description or ""},
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": made.finish(), "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


class _Converter:
    """Makes operations of fields, and the schemas of the input types that they need."""

    def __init__(self, budget: ImportBudget) -> None:
        self._budget = budget
        self.schemas: dict[str, Any] = {}
        self._characters = 0
        self._waiting: list[Any] = []

    def operation(self, kind: str, name: str, field: "GraphQLField") -> tuple[str, dict[str, Any]]:
        """Return an operation and its path, whose variant is its name with the verb first."""
        self._budget.check()
        is_paged = {"first", "after"} <= field.args.keys()
        arguments = {key: one for key, one in field.args.items() if not (is_paged and key in _BACKWARDS)}
        text, shape = self._selection(field.type, depth=-MAX_SELECTION_ENVELOPES, is_payload=kind == "mutation")
        verb_first = _verb_first(kind, name, is_list=_is_list(field.type))
        variables = ", ".join(f"${key}: {one.type}" for key, one in arguments.items())
        given = ", ".join(f"{key}: ${key}" for key in arguments)
        head = f"{kind} {verb_first}" + (f"({variables})" if variables else "")
        document = f"{head} {{ {name}" + (f"({given})" if given else "") + f"{text} }}"
        self._characters += len(document) + 1000  # and what is written around it
        if self._characters > MAX_DOCUMENTS_CHARACTERS:
            raise ValueError(f"its documents have more than {MAX_DOCUMENTS_CHARACTERS:,} characters")
        required = [key for key, one in arguments.items() if _is_required(one)]
        properties = {
            key: {**self._input(one.type), **({"description": one.description} if one.description else {})}
            for key, one in arguments.items()
        }
        body = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        answer = _object({"data": _object({name: shape})})
        return f"{GRAPHQL_PATH}#{verb_first}", {
            "summary": field.description or "",
            "tags": [kind],
            "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
            "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": answer}}}},
            DOCUMENT: Document(document),
        }

    def _selection(self, stated: Any, *, depth: int, is_payload: bool = False) -> tuple[str, dict[str, Any]]:
        """Return the fields to ask of a type, as the text of a document and as a schema; no pages within pages.

        What is asked for has a `depth` of at most 0, within its envelopes; it is 1 in its objects.
        """
        from graphql import GraphQLList, get_named_type, get_nullable_type, is_leaf_type, is_union_type

        bare = get_nullable_type(stated)
        if isinstance(bare, GraphQLList):
            text, shape = self._selection(bare.of_type, depth=depth)
            return text, {"type": "array", "items": shape}
        named: Any = get_named_type(stated)
        if is_leaf_type(named):
            return "", _leaf(named)
        if is_union_type(named):
            return _members(named.types[:MAX_MEMBERS])
        found = dict(self._fields(named, depth, is_payload=is_payload)) or {"__typename": ("", {"type": "string"})}
        texts = [f"{name}{text}" for name, (text, _) in found.items()]
        shown = {name: shape for name, (_, shape) in found.items() if not (is_payload and name in _USER_ERRORS)}
        return f" {{ {' '.join(texts)} }}", _object(shown)

    def _fields(self, named: Any, depth: int, *, is_payload: bool) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
        """Yield the fields of an object that need no arguments: texts and numbers first, then what is in it."""
        from graphql import get_named_type, is_leaf_type, is_nullable_type

        fields = {
            name: one
            for name, one in named.fields.items()
            if _is_offered(one) and not any(map(_is_required, one.args.values()))
        }
        pages = next((name for name in ("nodes", "edges") if name in fields and "pageInfo" in fields), "")
        if pages and depth <= 0:
            yield pages, self._selection(fields[pages].type, depth=depth + 1)
            info = get_named_type(fields["pageInfo"].type)
            names = _fields_of(info, _PAGE_INFO)
            yield (
                "pageInfo",
                (f" {{ {' '.join(names)} }}", _object({name: {"type": _PAGE_INFO[name]} for name in names})),
            )
            return
        types = {name: get_named_type(one.type) for name, one in fields.items()}
        leaves = [name for name in types if is_leaf_type(types[name]) and name not in _IGNORED]
        objects = [name for name in types if not is_leaf_type(types[name]) and not _is_pages(types[name])]
        is_wrapper = is_payload and not _IGNORED.union(_USER_ERRORS).issuperset(objects)
        if is_wrapper:
            leaves = [name for name in leaves if name == "success"]
        leaves.sort(key=lambda name: (_prominence(name), is_nullable_type(fields[name].type)))
        for name in leaves[:MAX_TEXTS]:
            if depth <= 0 or name in _NAMED:
                yield name, self._selection(fields[name].type, depth=depth)
        objects.sort(key=lambda name: (not _has_name(types[name]), is_nullable_type(fields[name].type)))
        for name in objects[:MAX_OBJECTS] if depth <= 0 else ():
            is_envelope = is_wrapper or name == "node"
            yield name, self._selection(fields[name].type, depth=depth + 1 if is_envelope else 1)

    def _input(self, stated: Any) -> dict[str, Any]:
        """Return the JSON Schema of an argument's type; one of an input type is shared."""
        from graphql import GraphQLList, GraphQLNonNull, is_input_object_type

        is_nullable = not isinstance(stated, GraphQLNonNull)
        bare = stated if is_nullable else stated.of_type
        if isinstance(bare, GraphQLList):
            return {"type": "array", "items": self._input(bare.of_type)} | ({"nullable": True} if is_nullable else {})
        if not is_input_object_type(bare):
            return _leaf(bare) | ({"nullable": True} if is_nullable else {})
        if bare.name not in self.schemas:
            self.schemas[bare.name] = {}
            self._waiting.append(bare)
        return {"$ref": f"#/components/schemas/{bare.name}"}

    def finish(self) -> dict[str, Any]:
        """Return the schemas; each waits for its turn, since one leads to the next through a whole API."""
        while self._waiting:
            self._budget.check()
            bare = self._waiting.pop()
            fields = bare.fields.items()
            self.schemas[bare.name] = {
                **_object({name: self._input(one.type) for name, one in fields}),
                "required": [name for name, one in fields if _is_required(one)],
            }
        return self.schemas


def _verb_first(kind: str, name: str, *, is_list: bool) -> str:
    """Return a field's name with its verb first: `createIssue` of `issueCreate`, `listIssues` of `issues`."""
    said = words(name)
    if said[0] in actions():
        return name
    if kind == "mutation":
        moved = [said[-1], *said[:-1]] if len(said) > 1 and said[-1] in actions() else said
    elif said[-1] == "search":
        moved = ["search", *said[:-1]]
    else:
        moved = ["list" if is_list else "get", *said]
    return moved[0] + "".join(word.capitalize() for word in moved[1:])


def _prominence(name: str) -> int:
    return _NAMED.index(name) if name in _NAMED else len(_NAMED)


def _leaf(named: "GraphQLNamedType") -> dict[str, Any]:
    from graphql import is_enum_type

    if is_enum_type(named):
        return {"type": "string", "enum": list(named.values)}
    if named.name in _SCALARS:
        return {"type": _SCALARS[named.name]}
    return {"type": "string"} if _TEXT_SCALAR.search(named.name) else {}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object whose fields a document names: an answer has them all."""
    return {"type": "object", "properties": properties, "required": [*properties]}


def _members(members: Sequence[Any]) -> tuple[str, dict[str, Any]]:
    """Return the fields to ask of a union: those by which its members are known, where all give them one type."""
    types = {name: {str(one.fields[name].type) for one in members if name in one.fields} for name in _NAMED}
    alike = [name for name, found in types.items() if len(found) == 1]
    texts = [f"... on {one.name} {{ {' '.join(names)} }}" for one in members if (names := _fields_of(one, alike))]
    shape = _object({name: {"type": "string"} for name in ("__typename", *alike)})
    return f" {{ {' '.join(['__typename', *texts])} }}", shape


def _fields_of(named: Any, names: Iterable[str]) -> list[str]:
    fields = named.fields
    return [name for name in names if name in fields and not any(map(_is_required, fields[name].args.values()))]


def _is_offered(field: "GraphQLField") -> bool:
    return field.deprecation_reason is None and not _ASIDE.match(field.description or "")


def _has_name(named: Any) -> bool:
    return not _NAMED_BY.isdisjoint(getattr(named, "fields", ()))


def _is_required(argument: Any) -> bool:
    from graphql import GraphQLNonNull, Undefined

    return isinstance(argument.type, GraphQLNonNull) and argument.default_value is Undefined


def _is_pages(named: Any) -> bool:
    return "pageInfo" in getattr(named, "fields", ())


def _is_list(stated: Any) -> bool:
    from graphql import GraphQLList, get_named_type, get_nullable_type

    return isinstance(get_nullable_type(stated), GraphQLList) or _is_pages(get_named_type(stated))
