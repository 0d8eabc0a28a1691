"""`mcpist schema`, `modules` and `call`: the meta-tools of an endpoint, and how a shell completes their names."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import NoneType
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option
from typer._completion_shared import get_completion_script

from infra.cli.document import CommandError, CommandResult, in_words
from infra.cli.endpoint import WHOLE_ANSWER, Endpoint, parsed
from infra.cli.options import Token, Url
from infra.cli.table import paragraph, render_table
from mcpist.render.read import read
from mcpist.visible_text import visible

# What a value of each type of JSON is in Python; a text is one already.
_TYPES: dict[str, Any] = {
    "integer": int | float,
    "number": int | float,
    "boolean": bool,
    "null": NoneType,
    "array": list,
    "object": dict,
}
Shell = Annotated[
    Literal["bash", "zsh", "fish"], typer.Argument(help="e.g. in ~/.bashrc: source <(mcpist completion bash)")
]


def module_names(incomplete: str) -> list[str]:
    """Return the modules that a word can become; none where no endpoint answers."""
    return [name for name in _names({}, "module") if name.startswith(incomplete)]


def tool_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the tools of the module before the word."""
    module = ctx.params.get("module")
    found = _names({"modules": [module], "full": True}, "name") if module else []
    return [name for name in found if name.startswith(incomplete)]


def _names(arguments: dict[str, object], field: str) -> list[str]:
    try:
        modules = Endpoint.from_options(None, None).call("get_module_schema", arguments).texts[0]["modules"]
    except CommandError:
        return []
    entries = modules if field == "module" else modules[0].get("tools", [])
    return [str(one[field]) for one in entries]


def schema(
    modules: Annotated[
        list[str] | None,
        Argument(metavar="MODULE", help="[default: a list of all modules]", autocompletion=module_names),
    ] = None,
    tool: Annotated[list[str] | None, Option(metavar="TOOL", help="Show this tool's full schema.")] = None,
    query: Annotated[str, Option(metavar="TASK", help="Find tools for a task.")] = "",
    full: Annotated[bool, Option("--full", help="Show full schemas.")] = False,
    url: Url = None,
    token: Token = None,
) -> CommandResult:
    """Show what modules offer; without a module, list them."""
    arguments = {"modules": modules or [], "tools": tool or [], "query": query, "full": full}
    return _drawn(Endpoint.from_options(url, token).call("get_module_schema", arguments))


def list_modules(url: Url = None, token: Token = None) -> CommandResult:
    """List the modules that you may use."""
    return _drawn(Endpoint.from_options(url, token).call("get_module_schema", {}))


def call(
    ctx: typer.Context,
    module: Annotated[str, Argument(metavar="MODULE", autocompletion=module_names)],
    tool: Annotated[str, Argument(metavar="TOOL", autocompletion=tool_names)] = "",
    arguments: Annotated[
        list[str] | None, Argument(metavar="[NAME=VALUE]...", help="The tool's arguments, such as limit=3.")
    ] = None,
    params: Annotated[str, Option(metavar="JSON", help="The tool's arguments as one JSON object.")] = "{}",
    raw: Annotated[bool, Option("--raw", help="Show the service's own JSON.")] = False,
    confirm: Annotated[bool, Option("--confirm", help="Run a tool that destroys without a question.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show what the call would change, and what undoes it.")] = False,
    account: Annotated[str, Option(metavar="LABEL", help="Act with this one of several accounts.")] = "",
    url: Url = None,
    token: Token = None,
) -> CommandResult:
    """Run one tool, e.g. `mcpist call rag search_docs query=broker limit=3`, or `mcpist call rag.search_docs ...`."""
    if not tool or "=" in tool:
        module, tool, arguments = "", module, [*filter(None, [tool]), *(arguments or [])]
    try:
        given = json.loads(params)
    except ValueError as error:
        raise CommandError("VALIDATION_ERROR", f"--params: {error}", "Write a JSON object.") from None
    if not isinstance(given, dict):
        raise CommandError("VALIDATION_ERROR", "--params is no JSON object.", "Write --params '{\"limit\": 3}'.")
    endpoint = Endpoint.from_options(url, token)
    with endpoint.session.connected():
        if arguments:
            answer = endpoint.call("get_module_schema", {"modules": [module] if module else [], "tools": [tool]}).texts[
                0
            ]
            shown = (one for found in answer["modules"] for one in found["tools"] if isinstance(one, dict))
            given |= typed_arguments(arguments, next((one["inputSchema"] for one in shown), {}))
        options = WHOLE_ANSWER | ({"account": account} if account else {})
        flags = {name: True for name, value in {"confirm": confirm, "dry_run": dry_run}.items() if value}
        request = {"module": module, "tool": tool, "params": given, "raw_output": raw, "options": options, **flags}
        if raw or dry_run or ctx.obj.draws:
            return endpoint.call("call", request)
        request["options"] = options | {"format": "toon"}  # a document's Markdown could be read as something else
        return endpoint.call("call", request, _readable)


def _readable(text: str) -> Any:
    """Return the JSON of an answer in TOON; another text stays as it is."""
    try:
        return read(text)
    except ValueError:
        return text


def completion(shell: Shell) -> int:
    """Print the script by which a shell completes this command."""
    # Here `shell` is the name of one.
    print(get_completion_script(prog_name="mcpist", complete_var="_MCPIST_COMPLETE", shell=shell))  # nosec B604
    return 0


def _drawn(answer: CommandResult) -> CommandResult:
    return replace(answer, drawing=draw_schema(answer.texts[0]))


def draw_schema(answer: Any) -> str:
    """Return the answer of `get_module_schema`: a table of modules, or the tools of some, or those found for a task."""
    if not isinstance(answer, dict) or "modules" not in answer:
        return visible(json.dumps(answer, ensure_ascii=False, indent=2), lines=True)
    modules: list[dict[str, Any]] = answer["modules"]
    if not any(isinstance(one.get("tools"), list) or "error" in one for one in modules):
        rows = [(one["module"], str(one.get("tools", "")), one["description"]) for one in modules]
        return render_table(("module", "tools", "what it has"), rows)
    return "\n\n".join("\n".join(_lines(one)) for one in modules)


def _lines(module: Mapping[str, Any]) -> Iterator[str]:
    if error := module.get("error"):
        yield visible(f"{module['module']}: {error['code']} {error['message']} {error['hint']}")
        return
    yield paragraph(visible(f"{module['module']}: {module.get('description', '')}"), 2)
    for kind in ("tools", "resources", "prompts"):
        if module.get(kind):
            yield from ["", f"{in_words(kind)}:"] if kind != "tools" else []
            yield from (paragraph(f"  {line}", 6) for line in _entries(module[kind]))
    if marks := module.get("marks"):
        yield from ["", paragraph(visible(marks), 2)]
    if formats := module.get("formats"):
        shown = (paragraph(visible(f"  {name}: {form}"), 6) for name, form in formats.items())
        yield from ["", f"{in_words('formats')}:", *shown]


def _entries(entries: Iterable[Any]) -> Iterator[str]:
    """Yield a line for each signature, and the JSON of a full schema."""
    for one in entries:
        text = one if isinstance(one, str) else json.dumps(one, ensure_ascii=False, indent=2)
        yield from visible(text, lines=True).splitlines()


def typed_arguments(words: Iterable[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of words such as `query=broker`; the endpoint refuses a value of a wrong type."""
    given: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            hint = "Write NAME=VALUE, or --params with a JSON object."
            raise CommandError("VALIDATION_ERROR", f"{word} is no argument of a tool.", hint)
        given[name] = _typed(value, schema.get("properties", {}).get(name, {}), schema)
    return given


def _typed(text: str, kind: Mapping[str, Any], whole: Mapping[str, Any]) -> Any:
    """Return a text as the type that a schema names: the first of several that the text can be."""
    if place := str(kind.get("$ref", "")).removeprefix("#/"):
        return _typed(text, _part(whole, place), whole)
    # Every text is a text already: the first choice that makes something else of it is meant.
    if choices := kind.get("anyOf") or kind.get("oneOf"):
        return next((value for choice in choices if (value := _typed(text, choice, whole)) != text), text)
    types = kind.get("type", [])
    for name in [types] if isinstance(types, str) else types:
        value = _as_type(text, name, kind, whole)
        if value is not text:
            return value
    return text


def _as_type(text: str, name: str, kind: Mapping[str, Any], whole: Mapping[str, Any]) -> Any:
    """Return a text as one type, or the same text where it is not of this type."""
    value = parsed(text)
    # Python takes true for 1, JSON does not.
    if isinstance(value, _TYPES.get(name, ())) and isinstance(value, bool) == (name == "boolean"):
        return value
    if name == "array":
        return [_typed(one.strip(), kind.get("items", {}), whole) for one in text.split(",")]
    return text


def _part(schema: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    for name in place.split("/"):
        schema = schema.get(name, {})
    return schema
