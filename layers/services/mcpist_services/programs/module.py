"""Module: a declaration as one module of the catalogue, and all declarations of the deployment."""

from collections.abc import Mapping
from functools import cached_property, partial

from mcpist.memory import cached
from mcpist.render.shows import shows
from mcpist.tools.index import Index
from mcpist.tools.module import Module
from mcpist.tools.tool import ModuleMetadata
from mcpist_services.programs.declaration import Declaration
from mcpist_services.programs.loading import declared_programs
from mcpist_services.programs.runs import ProgramRuns, RunProgram, run_in_sandbox
from mcpist_services.programs.tool import ProgramTool


def module(declaration: Declaration, run: RunProgram = run_in_sandbox) -> Module:
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


class ProgramModules:
    """The modules of declared programs; each is built when it is first used."""

    def __init__(self, declarations: Mapping[str, Declaration]) -> None:
        self._declarations = declarations
        self._modules: dict[str, Module] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the modules."""
        return tuple(self._declarations)

    @cached_property
    def index(self) -> Index:
        """The index of their tools."""
        return Index.of(map(self.module, self.names))

    def module(self, name: str) -> Module:
        """Return a module by its name."""
        if name not in self._modules:
            self._modules[name] = module(self._declarations[name])
        return self._modules[name]


@cached
def program_modules() -> ProgramModules:
    """Return the modules of this deployment's programs."""
    return ProgramModules(declared_programs())
