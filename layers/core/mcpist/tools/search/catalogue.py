"""The catalogue: every module by its name, imported when a tool of it is first used; listed without importing any."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, cached_property, reduce
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mcpist.caller import Caller
from mcpist.errors import Locale, McpistError
from mcpist.render.shows import Shows
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.schema_tool import unknown_columns
from mcpist.tools.search.index import Index, join_indexes
from mcpist.tools.search.translation import UNTRANSLATED, Translation, read_translation

if TYPE_CHECKING:
    from mcpist.tools.search.phrases import Phrases

INDEX_FILE = "index.json"


class CatalogueView(Protocol):
    """The modules as one request sees them: they do not change until its end."""

    @property
    def index(self) -> Index:
        """The index that is listed and searched."""

    def module(self, name: str) -> Module:
        """Return a module by its name."""

    def shows(self, module: str, tool: str) -> Shows:
        """Return the fields of a tool's answers, also of a tool that no longer exists."""

    def load_tools(self, names: Collection[str]) -> None:
        """Read the tools of these modules where they are not known yet, or have changed."""

    def missing_reason(self, module: str, tool: str = "") -> McpistError | None:
        """Return why a module's tools are not known, or why one of them is missing; None where no reason is known."""


class ImportedModules(Protocol):
    """Modules that are built from data, the same for all callers."""

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""

    @property
    def index(self) -> Index:
        """The index that is listed and searched."""

    def module(self, name: str) -> Module:
        """Return a module by its name."""


class Catalogue:
    """The modules of one package; each is in a folder of its own name, under its own name.

    `imported` gives the modules that are built from data, which have names of their own. `extra_modules` gives a
    caller's further modules, which are not files: the categories of upstream servers, and what the organization
    registered, if any.
    """

    def __init__(
        self,
        package: str,
        names: Iterable[str],
        extra_modules: Callable[[Caller], Sequence[CatalogueView]] = lambda _: (),
        imported: Callable[[], Sequence[ImportedModules]] = tuple,
    ) -> None:
        self.package = package
        self.written = tuple(names)
        self.extra_modules = extra_modules
        self.imported = imported
        self.written_module = cache(self._import)
        self._translation = cache(self._read_translation)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all its modules."""
        return (*self.written, *(name for source in self.imported() for name in source.names))

    def module(self, name: str) -> Module:
        """Return a module by its name; it is imported or built when it is first asked for."""
        sources = self.imported() if name not in self.written else ()
        source = next((source for source in sources if name in source.names), None)
        return source.module(name) if source else self.written_module(name)

    def translation(self, module: str, locale: Locale) -> Translation:
        """Return the descriptions of a module in a language; those of modules from elsewhere stay as they are given."""
        return UNTRANSLATED if locale == "en" or module not in self.written else self._translation(module, locale)

    def of(self, caller: Caller) -> CatalogueView:
        """Return the catalogue as one request of a caller sees it."""
        others = self.extra_modules(caller)
        return _JoinedCatalogue(self, others) if others else self

    def shows(self, module: str, tool: str) -> Shows:
        """Return the fields of a tool's answers; a tool of no module here is an upstream's."""
        found = self.module(module).tools.get(tool) if module in self.names else None
        return found.shows if found else unknown_columns()

    def load_tools(self, names: Collection[str]) -> None:
        """Do nothing: files are always there."""

    def missing_reason(self, module: str, tool: str = "") -> McpistError | None:  # noqa: ARG002 - files are there or not
        """Return None: a module or a tool that is not there never was."""
        return None

    @property
    def index(self) -> Index:
        """The index of all its modules."""
        index = self._written_index
        for source in self.imported():
            index = join_indexes(index, source.index)
        return index

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
                raise ImportError(
                    f'no line for `{folder.name}`: add "{folder.name}" to NAMES in {self.package}/__init__.py'
                )
        return Index.of(map(self.module, self.written), self.phrases)

    @property
    def phrases(self) -> "dict[str, Phrases]":
        """How people ask for the tools of each module."""
        from mcpist.tools.search.phrases import read_phrases  # which only the build needs

        return {name: read_phrases(self.folder / name) for name in self.written}

    def write(self) -> None:
        """Write the index, as the build does."""
        (self.folder / INDEX_FILE).write_text(self.read().dump(), "utf-8")

    def _read_translation(self, module: str, locale: Locale) -> Translation:
        return read_translation(self.folder / module, locale)

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


class _JoinedCatalogue:
    """Our own modules, then others; no two have the same name."""

    def __init__(self, own: Catalogue, others: Sequence[CatalogueView]) -> None:
        self._own = own
        self._others = others

    @property
    def index(self) -> Index:
        return reduce(join_indexes, (view.index for view in self._others), self._own.index)

    def module(self, name: str) -> Module:
        return self._view(name).module(name)

    def shows(self, module: str, tool: str) -> Shows:
        try:
            return self._view(module).shows(module, tool)
        except LookupError:  # it no longer exists
            return unknown_columns()

    def load_tools(self, names: Collection[str]) -> None:
        for view in self._others:
            view.load_tools(names)

    def missing_reason(self, module: str, tool: str = "") -> McpistError | None:
        reasons = (view.missing_reason(module, tool) for view in self._others)
        return next((reason for reason in reasons if reason), None)

    def _view(self, module: str) -> CatalogueView:
        """Return the view that has a module; LookupError if none has."""
        if module in self._own.names:
            return self._own
        found = next((view for view in self._others if module in view.index.modules), None)
        if found is None:
            raise LookupError(module)
        return found
