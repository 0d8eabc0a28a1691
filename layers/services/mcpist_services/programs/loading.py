"""Loading: the declarations of a folder; a wrong one is left out and named, with the place in it that is wrong."""

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.memory import cached
from mcpist.settings import settings
from mcpist.validation import parse_model
from mcpist_services import names
from mcpist_services.programs.declaration import Declaration

RESERVED_NAMES = frozenset({"categories", "mcpist", "modules", "programs"})
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
    values = _read(file)
    try:
        declaration = parse_model(Declaration, values)
    except InvalidRequest as error:
        raise refuse(file, str(error.details["field"]), str(error.details["problem"])) from None
    if declaration.name != file.stem:
        raise refuse(file, "name", f"it is {declaration.name}, and the file is named {file.name}")
    _check_name(file, declaration.name)
    _check_schemas(file, declaration)
    return declaration


def _check_name(file: Path, name: str) -> None:
    """Refuse the name of another module, and a reserved one."""
    if name in {*names(), *RESERVED_NAMES}:
        raise refuse(file, "name", f"{name} is the name of another module")


def refuse(file: Path, place: str, problem: str) -> InvalidRequest:
    """Return the error for a place in a declaration."""
    return InvalidRequest(field=f"{file.name}: {place}", problem=problem)


@cached
def declared_programs() -> dict[str, Declaration]:
    """Return the declarations of this deployment; wrong ones are logged, and everything else works without them."""
    loaded = load_folder(Path(settings().programs))
    for error in loaded.problems.values():
        place, problem = error.details["field"], error.details["problem"]
        logger.error("program declaration left out", extra={"place": place, "problem": problem})
    return loaded.declarations


def _read(file: Path) -> dict[str, Any]:
    """Return the object of a file; a line and a column name the place where it is no JSON."""
    if file.stat().st_size > MAX_DECLARATION_BYTES:
        raise refuse(file, "size", f"it is larger than {MAX_DECLARATION_BYTES:,} bytes")
    try:
        values = json.loads(file.read_text("utf-8"), object_pairs_hook=_no_duplicates)
    except json.JSONDecodeError as error:
        raise refuse(file, f"line {error.lineno}, column {error.colno}", error.msg) from None
    except (ValueError, RecursionError) as error:
        raise refuse(file, "text", str(error)) from None
    if not isinstance(values, dict):
        raise refuse(file, "text", "it is no object")
    return values


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)} is there twice in one object")
    return found


def _check_schemas(file: Path, declaration: Declaration) -> None:
    """Refuse a schema that is none: its arguments would go to the program unchecked."""
    from mcpist.tools.declare.bounded_schema import OverBudget, is_schema

    for index, tool in enumerate(declaration.tools):
        try:
            valid = is_schema(tool.input_schema)
        except (OverBudget, RecursionError):
            valid = False
        if not valid:
            raise refuse(file, f"tools.{index}.inputSchema", "it is no JSON Schema")
