"""Loading: the declarations of a folder; a wrong one is left out and named, with the place in it that is wrong."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.memory import cached
from mcpist.settings import settings
from mcpist_services import names
from mcpist_services.definition_files import load_definition, refuse
from mcpist_services.programs.declaration import Declaration

MAX_DECLARATION_BYTES = 200_000

logger = logging.getLogger(__name__)


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
    declaration = load_definition(Declaration, file, MAX_DECLARATION_BYTES, names())
    for index, tool in enumerate(declaration.tools):
        if not _is_schema(tool.input_schema):
            raise refuse(f"{file.name}: tools.{index}.inputSchema", "it is no JSON Schema")
    return declaration


@cached
def declared_programs() -> dict[str, Declaration]:
    """Return the declarations of this deployment; wrong ones are logged, and everything else works without them."""
    loaded = load_folder(Path(settings().programs))
    for error in loaded.problems.values():
        place, problem = error.details["field"], error.details["problem"]
        logger.error("program declaration left out", extra={"place": place, "problem": problem})
    return loaded.declarations


def _is_schema(schema: dict[str, Any]) -> bool:
    """Whether arguments can be checked by a schema: without it they would go to the program unchecked."""
    from mcpist.tools.declare.bounded_schema import OverBudget, is_schema

    try:
        return is_schema(schema)
    except (OverBudget, RecursionError):
        return False
