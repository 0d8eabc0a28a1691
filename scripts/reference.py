"""`make docs`: pages of tools, errors, decisions and prices, the published schemas, and the OpenAPI document."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from benchmarks.month import month_page
from benchmarks.report import COSTS, replaced
from benchmarks.worst_hour import worst_hour_table
from infra.cli.document import ADMINISTRATOR, CALLER, DEFECT, EXIT_CODES, TOOL, TRY_AGAIN, USER
from infra.local.intrinsics import read_yaml
from mcpist import errors
from mcpist.audit.rows import column_types
from mcpist.files.reference import PUBLISHED, draft7
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.tool import PAGING_PARAMETERS, Tool
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.described.module import module as module_of
from mcpist_services.described.overlay import Overlay
from mcpist_services.described.overlay_files import load_folder
from mcpist_services.programs.declaration import Declaration
from mcpist_services.programs.module import load_folder as load_programs
from mcpist_services.programs.module import module as program_module
from mcpist_services.upstream.configuration import UpstreamConfiguration
from scripts import batch_language, decisions

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs/tools"
ERRORS = ROOT / "docs/errors.md"
BATCH_LANGUAGE = ROOT / "docs/batch-language.md"
FUNCTIONS = ROOT / "functions"
OPENAPI = FUNCTIONS / "rest_api/openapi.json"
SCHEMAS = ROOT / "docs/schemas"
APIS = ROOT / "layers/config/apis"
PROGRAMS = ROOT / "layers/config/programs"
COMMAND_LINE = ROOT / "docs/command-line.md"
ADMINISTRATION = ROOT / "docs/administration.md"
OBSERVABILITY = ROOT / "docs/observability.md"
TEMPLATE = ROOT / "template.yaml"
UPSTREAMS_SCHEMA = ROOT / "layers/config/upstreams.schema.json"
APIS_SCHEMA = ROOT / "layers/config/apis.schema.json"
LOG_GROUP = "AWS::Logs::LogGroup"
EFFECTS = {"reads": "", "writes": " (writes)", "asks": " (asks)", "destroys": " (destroys)"}
BOUND_KEYWORDS = ("enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "default")
WHO_ACTS: dict[type[errors.McpistError], str] = {
    errors.CallerError: "the caller",
    errors.AdministratorError: "an administrator",
    errors.AccountError: "the user",
    errors.TransientError: "nobody: try again",
    errors.ToolExecutionError: "as the message says",
    errors.DefectError: "the operator",
}
WHO_ACTS_AT_A_TERMINAL = {
    0: "nobody: it succeeded",
    DEFECT: "the project: a defect",
    CALLER: "you change the command",
    ADMINISTRATOR: "an administrator",
    USER: "you log in, connect an account, confirm, or have it approved",
    TRY_AGAIN: "nobody: try again later",
    TOOL: "as the tool's message says",
    130: "Ctrl-C ended it; a batch continues",
    141: "the reader of its output has ended",
}


def main() -> None:
    """Write every page and the schema, and delete the pages of removed modules; with `--check` only compare them."""
    wanted = {FOLDER / name: text for name, text in pages().items()}
    wanted |= {
        ERRORS: error_page(),
        BATCH_LANGUAGE: _text("Batch language", ["batch", "reference"], *batch_language.lines()),
        decisions.FOLDER / "README.md": decisions.contents(),
        UPSTREAMS_SCHEMA: upstreams_schema(),
        APIS_SCHEMA: apis_schema(),
        OPENAPI: openapi_document(),
    }
    wanted |= {SCHEMAS / f"{name}.schema.json": _json(draft7(model)) for name, model in PUBLISHED.items()}
    wanted[SCHEMAS / "program.schema.json"] = _json(draft7(Declaration))
    month = replaced(month_page(), COSTS, "month")
    wanted[COSTS] = replaced(worst_hour_table(), COSTS, "worst_hour", month)
    wanted[ADMINISTRATION] = replaced(audit_table(), ADMINISTRATION, "columns")
    wanted[COMMAND_LINE] = replaced(exit_code_table(), COMMAND_LINE, "exit_codes")
    wanted[OBSERVABILITY] = replaced(log_group_table(), OBSERVABILITY, "log_groups")
    there = {path: path.read_text("utf-8") for path in {*FOLDER.glob("*.md"), *wanted} if path.exists()}
    drifted = sorted(path for path in {*wanted, *there} if wanted.get(path) != there.get(path))
    if "--check" in sys.argv[1:]:
        said = [f"{path.relative_to(ROOT)} is not what the code says: run `make docs`" for path in drifted]
        sys.exit("\n".join(said) or None)
    for folder in (FOLDER, SCHEMAS):
        folder.mkdir(exist_ok=True)
    for path in drifted:
        if path in wanted:
            path.write_text(wanted[path], "utf-8")
        else:
            path.unlink()


def pages() -> dict[str, str]:
    """Return the text of each page by its file's name."""
    modules = [CATALOGUE.module(name) for name in NAMES]
    modules += [module_of(overlay, loopback=True) for overlay in load_folder(APIS)]
    modules += [program_module(declaration) for declaration in load_programs(PROGRAMS).declarations.values()]
    return {"README.md": overview(modules)} | {f"{module.name}.md": page(module) for module in modules}


class _UntitledSchema(GenerateJsonSchema):
    """A schema without titles, which only repeat the names."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - as pydantic has it
        return False


def upstreams_schema() -> str:
    """Return the JSON Schema of `upstreams.json`, for editors and for people."""
    return _json({"$schema": DIALECT} | UpstreamConfiguration.model_json_schema(schema_generator=_UntitledSchema))


def apis_schema() -> str:
    """Return the JSON Schema of an imported API's overlay."""
    return _json({"$schema": DIALECT, **Overlay.model_json_schema()})


def openapi_document() -> str:
    """Return the REST API's OpenAPI document."""
    sys.path.insert(0, str(FUNCTIONS))
    from scripts import rest_document  # the functions are no packages of this environment

    return rest_document.generate()


def error_page() -> str:
    """Return the page of all error codes, with one row for each code and each kind of person who must act."""
    rows: dict[tuple[str, str], str] = {}
    for kind in errors.concrete_errors():
        who = next(who for branch, who in WHO_ACTS.items() if issubclass(kind, branch))
        row = f"| `{kind.code}` | {kind.status} | {who} | {kind.__doc__} |"
        rows.setdefault((kind.code, who), row)
    return _text(
        "Errors",
        ["errors"],
        "Every error is `{code, message, hint, details}`, in English or Japanese. Where trying again may help, its",
        "details have `retryable: true`. In MCP, an error of a tool is its result, and any other stands in the `data`",
        "of the protocol's error. This page is written from the code by `make docs`.",
        "",
        "| code | HTTP | who acts | when |",
        "| --- | --- | --- | --- |",
        *rows.values(),
    )


def audit_table() -> str:
    """Return the table of the columns of an audit row."""
    rows = "".join(f"| `{name}` | {meaning} |\n" for name, _, meaning in column_types())
    return f"\n| column | what it says |\n| --- | --- |\n{rows}\n"


def exit_code_table() -> str:
    """Return the table of the exit codes of `mcpist`, with the codes of errors that end with each."""
    codes = dict.fromkeys(kind.code for kind in errors.concrete_errors())
    rows = [f"| {number} | {who} | {_codes_of(number, codes)} |\n" for number, who in WHO_ACTS_AT_A_TERMINAL.items()]
    return f"\n| exit code | who acts | codes of errors |\n| --- | --- | --- |\n{''.join(rows)}\n"


def _codes_of(number: int, codes: Iterable[str]) -> str:
    return ", ".join(f"`{code}`" for code in codes if EXIT_CODES.get(code, DEFECT) == number)


def log_group_table() -> str:
    """Return the table of the stack's log groups."""
    groups = [one["Properties"] for one in read_yaml(TEMPLATE)["Resources"].values() if one["Type"] == LOG_GROUP]
    names = [(one["LogGroupName"]["Fn::Sub"].replace("${AWS::StackName}", "STACK"), one) for one in groups]
    rows = "".join(f"| `{name}` | {one['RetentionInDays']} |\n" for name, one in names)
    return f"\n| log group | kept for days |\n| --- | --- |\n{rows}\n"


def overview(modules: list[Module]) -> str:
    """Return the page that links to the others."""
    count = sum(len(module.tools) for module in modules)
    rows = [f"| [{module.name}]({module.name}.md) | {len(module.tools)} | {module.description} |" for module in modules]
    tools = [tool for module in modules for tool in module.tools.values() if tool.undo or tool.irreversible]
    final = [f"| {tool.module}.{tool.name} | {tool.irreversible} |" for tool in tools if tool.irreversible]
    return _text(
        "Tools",
        ["tools"],
        f"{count} tools in {len(modules)} modules. These pages are written from the code by `make docs`.",
        "",
        "| module | tools | what it has |",
        "| --- | --- | --- |",
        *rows,
        "",
        "## What cannot be undone",
        "",
        f"{len(tools) - len(final)} of {len(tools)} writing tools say what undoes them, the others why nothing does.",
        "",
        "| tool | why |",
        "| --- | --- |",
        *final,
    )


def page(module: Module) -> str:
    """Return a module's page: its tools, resources and prompts."""
    lines = [module.description, "", f"API version {module.api_version}."]
    if any(tool.paging for tool in module.tools.values()):
        lines += [
            "",
            "Lists (`...paging`) also take `limit` (50 if left out, at most 500), `fetch_all`, `cursor` (where a cut",
            "list ended) and `page_size`.",
        ]
    for tool in module.tools.values():
        lines += ["", *_tool(tool)]
    if module.resources:
        lines += ["", "## Resources", ""]
        lines += [f"- `{one.template}`: {one.description}" for one in module.resources.values()]
    if module.prompts:
        lines += ["", "## Prompts", ""]
        lines += [
            f"- `{name}({', '.join(one.input_schema['properties'])})`: {one.description}"
            for name, one in module.prompts.items()
        ]
    return _text(f"Tools: {module.name}", ["tools", module.name], *lines)


def _tool(tool: Tool) -> Iterator[str]:
    yield f"## {tool.name}{EFFECTS[tool.effect]}"
    yield ""
    yield tool.description
    yield ""
    yield f"    {tool.signature}"
    yield ""
    required = tool.input_schema.get("required", [])
    own = {
        name: spec
        for name, spec in tool.input_schema["properties"].items()
        if not tool.paging or name not in PAGING_PARAMETERS
    }
    yield from (f"- `{name}`{'' if name in required else ' (optional)'}{_spec(spec)}" for name, spec in own.items())
    yield from [""] if own else []
    yield from (f"Example: `{json.dumps(one['parameters'], ensure_ascii=False)}`" for one in tool.examples)
    if tool.operation:
        yield ""
        yield f"The service's operation: `{tool.operation}`."
    if tool.tells:
        yield ""
        yield f"The service tells others of it: {', '.join(tool.tells)}."
    if tool.costs:
        yield ""
        yield f"What it costs: {tool.costs}."
    if tool.undo or tool.irreversible:
        yield ""
        yield "It can be undone." if tool.undo else f"It cannot be undone: {tool.irreversible}."
    if tool.reveals:
        yield ""
        yield "It reveals secrets: off until a role allows it by name."


def _spec(spec: dict[str, Any]) -> str:
    """Return a parameter's description and bounds, or an empty text."""
    inner = spec.get("items", {}) if spec.get("type") == "array" else spec
    bounds = [f"{word} `{json.dumps(inner[word], ensure_ascii=False)}`" for word in BOUND_KEYWORDS if word in inner]
    said = [part for part in (spec.get("description", "").rstrip("."), ", ".join(bounds)) if part]
    return f": {'; '.join(said)}" if said else ""


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _text(title: str, tags: list[str], *lines: str) -> str:
    return "\n".join(["---", f'title: "{title}"', f"tags: [{', '.join(tags)}]", "---", f"# {title}", "", *lines, ""])


if __name__ == "__main__":
    main()
