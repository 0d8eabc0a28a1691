"""`mcpist program`: command-line programs as tools, declared in files."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from infra.cli.deployable import undeployable_programs
from infra.cli.document import CommandError, CommandResult, problem_in_words
from infra.cli.options import command_group
from infra.source import CONFIGURATION
from mcpist_services.programs.declaration import Declaration
from mcpist_services.programs.module import LoadedFolder, load_folder

PROGRAMS = CONFIGURATION / "programs"

Source = Annotated[Path, Argument(metavar="FILE|FOLDER", help="[default: layers/config/programs]")]

program = command_group()


@program.command("list")
def list_programs(source: Source = PROGRAMS) -> CommandResult:
    """List the declared programs and their tools; wrong declarations are left out."""
    rows = [_row(one) for one in _load(source).declarations.values()]
    lines = [f"{row['name']} {row['version']}: {', '.join(row['tools'])}" for row in rows]
    return CommandResult(
        metadata={"source": str(source), "programs": rows}, drawing="\n".join(lines) or "no program is declared"
    )


@program.command("check")
def check_programs(
    source: Source = PROGRAMS,
    deploy: Annotated[
        bool, Option("--deploy", help="Also check whether Lambda could run the programs, as `make build` does.")
    ] = False,
) -> CommandResult:
    """Check declarations, and name every place that is wrong."""
    loaded = _load(source)
    problems = [error.details for error in loaded.problems.values()]
    if deploy:
        beside = source.parent if source.is_file() else source
        problems += [problem for one in loaded.declarations.values() for problem in undeployable_programs(one, beside)]
    if problems:
        problems = list(map(problem_in_words, problems))
        first = f"{problems[0]['field']}: {problems[0]['problem']}"
        more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        hint = "Correct the declaration or the package; docs/programs.md has every field."
        raise CommandError("VALIDATION_ERROR", first + more, hint, details={"problems": problems})
    return list_programs(source)


def _load(source: Path) -> LoadedFolder:
    """Load the declarations of a file or a folder; the deployment's folder need not exist."""
    if source != PROGRAMS and not source.exists():
        raise CommandError("FILE_NOT_FOUND", f"{source} does not exist", "Name a declaration or a folder of them.")
    return load_folder(source)


def _row(declaration: Declaration) -> dict[str, Any]:
    tools = [f"{tool.name} ({tool.effect})" for tool in declaration.tools]
    return {"name": declaration.name, "version": declaration.version, "tools": tools}
