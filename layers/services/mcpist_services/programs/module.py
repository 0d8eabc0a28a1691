"""Programs as modules: declarations are loaded, and each tool's work is one run of a program."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.files.parameters import takes_file
from mcpist.memory import cached
from mcpist.programs import client
from mcpist.render.shows import shows
from mcpist.settings import settings
from mcpist.tools.declare.call import TimedLookup, Work
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.schema import parameter_lines
from mcpist.tools.declare.schema_tool import SchemaTool
from mcpist.tools.declare.tool import Example, ModuleMetadata
from mcpist.tools.search.catalogue import DefinedModules
from mcpist_services import names
from mcpist_services.definitions import load_definition, refuse
from mcpist_services.described.samples import sample
from mcpist_services.programs.declaration import Declaration, ToolDeclaration
from mcpist_services.programs.runs import ProgramRuns, RunProgram

EXAMPLE_FILE = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
MAX_DECLARATION_BYTES = 200_000
logger = logging.getLogger(__name__)


def module(declaration: Declaration, run: RunProgram = client.run) -> Module:
    """Return the module of a declaration, whose programs `run` runs."""
    found = Module(
        declaration.name,
        declaration.description,
        api_version=declaration.version,
        open_store=partial(ProgramRuns, module=declaration.name, run_program=run),
        synonyms=declaration.synonyms,
        kind="program",
        version=declaration.version,
        category=declaration.category,
        author=declaration.author,
        tags=declaration.tags,
    )
    about = ModuleMetadata(**found.about)
    for tool in declaration.tools:
        found.tools[tool.name] = ProgramTool(
            module=declaration.name,
            declaration=tool,
            effect=tool.effect,
            shows=shows(*tool.shows),
            about=about,
            idempotent=tool.effect == "reads",
        )
        found.scopes_by_tool[tool.name] = ()
    return found


@cached
def program_modules() -> DefinedModules:
    """Return the modules of this deployment's programs; wrong declarations are logged, and the others work."""
    loaded = load_folder(Path(settings().programs))
    for error in loaded.problems.values():
        place, problem = error.details["field"], error.details["problem"]
        logger.error("program declaration left out", extra={"place": place, "problem": problem})
    return DefinedModules(loaded.declarations, lambda name: module(loaded.declarations[name]))


@dataclass(frozen=True, eq=False, kw_only=True)
class ProgramTool(SchemaTool):
    """One use of a program."""

    declaration: ToolDeclaration

    @property
    def name(self) -> str:
        """The name in the declaration."""
        return self.declaration.name

    @property
    def description(self) -> str:
        """The declaration's description."""
        return self.declaration.description

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return self.declaration.input_schema

    @cached_property
    def signature(self) -> str:
        """One line: `search(pattern, files: [file]) -> outputs, metadata`."""
        properties = {name: _brief(spec) for name, spec in self.declaration.properties.items()}
        lines = parameter_lines({**self.input_schema, "properties": properties})
        return f"{self.name}({', '.join(lines)}) -> {', '.join(self.shows.fields)}"

    @property
    def examples(self) -> list[Example]:
        """The call with the required arguments alone, or those of the schema's own `examples`."""
        required = self.input_schema.get("required", ())
        least = {name: _example(self.declaration.properties[name]) for name in required}
        uses = [use for use in self.input_schema.get("examples", ()) if isinstance(use, dict)] or [least]
        brings = f"{self.shows.format}: {', '.join(self.shows.fields)}"
        first = self.description.partition("\n")[0]
        return [Example(description=first, parameters=use, expectedResult=brings) for use in uses]

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments with the schema's defaults, or raise InvalidArguments."""
        given = super().validate(arguments)
        properties = self.declaration.properties.items()
        return {name: spec["default"] for name, spec in properties if "default" in spec} | given

    def describe_work(self, arguments: Mapping[str, Any]) -> Work:
        """Return the run."""
        return TimedLookup(ProgramRuns.run, tool=self.declaration, arguments=dict(arguments))


def _brief(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema in which a file is of the type `file`."""
    if takes_file(spec):
        return {"type": "file"}
    return {**spec, "items": {"type": "file"}} if takes_file(spec.get("items")) else dict(spec)


def _example(spec: Mapping[str, Any]) -> Any:
    if takes_file(spec):
        return EXAMPLE_FILE
    return [EXAMPLE_FILE] if takes_file(spec.get("items")) else sample(spec, {})


@dataclass(frozen=True, slots=True)
class LoadedFolder:
    """The declarations of a folder by their names, and what is wrong with the others, by their files."""

    declarations: dict[str, Declaration]
    problems: dict[str, InvalidRequest]


def load_folder(folder: Path) -> LoadedFolder:
    """Return the declarations of a folder, or of one file; a wrong one is a problem and not among them."""
    declarations: dict[str, Declaration] = {}
    problems: dict[str, InvalidRequest] = {}
    for file in [folder] if folder.is_file() else sorted(folder.glob("*.json")):
        try:
            declaration = load_file(file)
        except InvalidRequest as error:
            problems[file.name] = error
        else:
            declarations[declaration.name] = declaration
    return LoadedFolder(declarations, problems)


def load_file(file: Path) -> Declaration:
    """Return the declaration of a file; InvalidRequest names the file and the place in it that is wrong."""
    from mcpist.tools.declare.bounded_schema import is_schema

    declaration = load_definition(Declaration, file, MAX_DECLARATION_BYTES, names())
    for index, tool in enumerate(declaration.tools):
        # Without a schema by which they can be checked, arguments would go to the program as they are.
        if not is_schema(tool.input_schema):
            raise refuse(f"{file.name}: tools.{index}.inputSchema", "it is no JSON Schema")
    return declaration
