"""The catalogue: every module by its name, imported when a tool of it is first used; listed without importing any."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property, reduce
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mcpist.caller import Caller
from mcpist.errors import Locale, McpistError
from mcpist.render.shows import Shows
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.schema_tool import unknown_columns
from mcpist.tools.declare.tool import Tool
from mcpist.tools.search.index import Index, join_indexes
from mcpist.tools.search.translation import UNTRANSLATED, Translation, read_translation
from mcpist.tools.search.word_index import WordIndex

if TYPE_CHECKING:
    from mcpist.tools.search.words import SearchWords

INDEX_FILE = "index.json"
NO_ENTRIES = Index([], WordIndex(0, {}, {}))
NO_FAILURES: Mapping[str, McpistError] = {}


class ModuleSource(ABC):
    """Where modules come from: files of Python, imported APIs, programs or MCP servers, as one request sees them.

    A source lists its modules in an index, without building any, and builds one when a tool of it is first used. What
    nobody may trust is not in the index; how a tool works is the built module's own affair.
    """

    @property
    @abstractmethod
    def index(self) -> Index:
        """The index that is listed and searched."""

    @abstractmethod
    def module(self, name: str) -> Module:
        """Return a module by its name."""

    @property
    def names(self) -> Collection[str]:
        """The names of the modules."""
        return self.index.modules

    def find_tool(self, module: str, tool: str) -> Tool | None:
        """Return a tool; None if it does not exist, or no longer."""
        return self.module(module).tools.get(tool) if module in self.names else None

    def shows(self, module: str, tool: str) -> Shows:
        """Return the fields of a tool's answers, also of a tool that no longer exists."""
        found = self.find_tool(module, tool)
        return found.shows if found else unknown_columns()

    def load_tools(self, names: Collection[str]) -> None:  # noqa: B027 - most sources know them from the start
        """Read the tools of these modules where they are not known yet, or have changed."""

    def missing_reason(self, module: str, tool: str = "") -> McpistError | None:  # noqa: ARG002
        """Return why a module's tools are not known, or why one of them is missing; None where no reason is known."""
        return None


class DefinedModules(ModuleSource):
    """Modules that data defines; each is built when it is first used, and kept."""

    def __init__(
        self, names: Iterable[str], build: Callable[[str], Module], read_index: Callable[[], Index] | None = None
    ) -> None:
        self._names = tuple(names)
        self._build = cache(build)
        self._read_index = read_index

    @property
    def names(self) -> Collection[str]:
        """The names of the modules."""
        return self._names

    @cached_property
    def index(self) -> Index:
        """The index that the build wrote, or else one that is made of the modules."""
        return self._read_index() if self._read_index else Index.of(map(self.module, self._names))

    def module(self, name: str) -> Module:
        """Return a module by its name."""
        return self._build(name)


class JoinedSources(ModuleSource):
    """Several sources as one; no two modules have the same name.

    `failures` are the modules that could not be read, each with the reason.
    """

    def __init__(self, sources: Sequence[ModuleSource], failures: Mapping[str, McpistError] = NO_FAILURES) -> None:
        self._sources = sources
        self._failures = failures

    @property
    def index(self) -> Index:
        """The entries of all sources, in their order."""
        return reduce(join_indexes, (source.index for source in self._sources)) if self._sources else NO_ENTRIES

    def module(self, name: str) -> Module:
        """Return a module by its name; LookupError where no source has it."""
        return self._source(name).module(name)

    def shows(self, module: str, tool: str) -> Shows:
        """Return the fields of a tool's answers."""
        try:
            return self._source(module).shows(module, tool)
        except LookupError:  # it no longer exists
            return unknown_columns()

    def load_tools(self, names: Collection[str]) -> None:
        """Read the tools of these modules, whichever sources they are of."""
        for source in self._sources:
            source.load_tools(names)

    def missing_reason(self, module: str, tool: str = "") -> McpistError | None:
        """Return the first reason that is known."""
        if module in self._failures:
            return self._failures[module]
        reasons = (source.missing_reason(module, tool) for source in self._sources)
        return next((reason for reason in reasons if reason), None)

    def _source(self, module: str) -> ModuleSource:
        found = next((source for source in self._sources if module in source.names), None)
        if found is None:
            raise LookupError(module)
        return found


class Catalogue(ModuleSource):
    """The modules of one package, each in a folder of its own name, and those that data defines.

    `deployed` gives the sources that are the same for all callers, `sources_of` those of one caller: the categories of
    upstream servers, and what the organization registered, if any.
    """

    def __init__(
        self,
        package: str,
        names: Iterable[str],
        deployed: Callable[[], Sequence[ModuleSource]] = tuple,
        sources_of: Callable[[Caller], Sequence[ModuleSource]] = lambda _: (),
    ) -> None:
        self.package = package
        self.written = tuple(names)
        self.deployed = deployed
        self.sources_of = sources_of
        self.written_module = cache(self._import)
        self._translation = cache(lambda module, locale: read_translation(self.folder / module, locale))

    @property
    def names(self) -> Collection[str]:
        """The names of all its modules."""
        return (*self.written, *(name for source in self.deployed() for name in source.names))

    def module(self, name: str) -> Module:
        """Return a module by its name; it is imported or built when it is first asked for."""
        sources = self.deployed() if name not in self.written else ()
        source = next((source for source in sources if name in source.names), None)
        return source.module(name) if source else self.written_module(name)

    def translation(self, module: str, locale: Locale) -> Translation:
        """Return the descriptions of a module in a language; those of modules from elsewhere stay as they are given."""
        return self._translation(module, locale) if locale != "en" and module.isidentifier() else UNTRANSLATED

    def of(self, caller: Caller) -> ModuleSource:
        """Return the catalogue as one request of a caller sees it."""
        others = self.sources_of(caller)
        return JoinedSources([self, *others]) if others else self

    @property
    def index(self) -> Index:
        """The index of all its modules."""
        return reduce(join_indexes, (source.index for source in self.deployed()), self._written_index)

    @cached_property
    def _written_index(self) -> Index:
        """The index that the build wrote; read from the modules themselves where there is none."""
        file = self.folder / INDEX_FILE
        return Index.load(file.read_text("utf-8")) if file.exists() else self.read()

    @property
    def folder(self) -> Path:
        """The folder of the package."""
        spec = find_spec(self.package)
        if spec is None or spec.origin is None:
            raise ImportError(f"{self.package} is no package")
        return Path(spec.origin).parent

    def read(self) -> Index:
        """Return the index of the modules as they are now; this imports them all."""
        for folder in sorted(self.folder.iterdir()):
            has_tools = (folder / "tools.py").exists() or (folder / "tools/__init__.py").exists()
            if has_tools and folder.name not in self.written:
                place = f"{self.package}/__init__.py"
                raise ImportError(f'no line for `{folder.name}`: add "{folder.name}" to TITLES in {place}')
        return Index.of(map(self.module, self.written), self.search_words())

    def search_words(self) -> "dict[str, SearchWords]":
        """Return the words of each module that only the search reads."""
        from mcpist.tools.search.words import search_words  # which only the build needs

        return {name: search_words(self.folder / name) for name in self.written}

    def write(self) -> None:
        """Write the index, as the build does."""
        (self.folder / INDEX_FILE).write_text(self.read().dump(), "utf-8")

    def _import(self, name: str) -> Module:
        """Import a module; an ImportError says what its folder lacks."""
        place = f"{self.package}.{name}.tools"
        try:
            module = getattr(import_module(place), name, None)
        except ModuleNotFoundError as error:
            if error.name not in {place, f"{self.package}.{name}"}:
                raise
            raise ImportError(f"no tools for `{name}`: add {self.package}/{name}/tools.py") from error
        if not isinstance(module, Module) or module.name != name:
            raise ImportError(f'no module `{name}` in {place}: declare `{name} = Module("{name}", ...)` there')
        if not module.tools:
            raise ImportError(
                f"no tools in {place}: declare one with @{name}.reads, @{name}.writes or @{name}.destroys"
            )
        return module
