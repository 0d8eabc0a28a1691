"""The MCP SDK without the parts that this server never uses, imported in half the time.

Importing any file of the SDK imports its whole client, a second server and a web server, which its packages re-export
for the convenience of programs; and pydantic builds validators for 500 messages, most of which no client sends. Here
the packages load what they re-export when it is asked for, and a validator is built at its first use, or before a
snapshot. Without this file the SDK is imported as it is.
No class and no function is another one, but for the constructor of event streams, which imports the real one.
"""

import gc
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import pydantic
from snapshot_restore_py import register_before_snapshot

LAZY_PACKAGES = ("mcp", "mcp.server", "sse_starlette")
USED_MODULES = ("mcp.server.lowlevel", "mcp.server.streamable_http_manager")


class LazyPackage(ModuleType):
    """A package whose `__init__.py` runs when a name is asked for that no import of a submodule has defined."""

    def __getattr__(self, name: str) -> Any:
        """Load the package, then return its attribute."""
        if name.startswith("__") or self.__spec__ is None or self.__spec__.loader is None:
            raise AttributeError(name)
        self.__class__ = ModuleType  # type: ignore[assignment]  # loaded: a package like any other
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def import_sdk() -> None:
    """Import the parts of the SDK that this server uses, unless this process has already imported others."""
    if not any(name in sys.modules for name in LAZY_PACKAGES):
        _make_packages_lazy()
        with _late_validators(), _without_collection():
            for name in USED_MODULES:
                import_module(name)
        register_before_snapshot(_build_validators)


def _make_packages_lazy() -> None:
    for name in LAZY_PACKAGES:
        spec = importlib.util.find_spec(name)
        assert spec is not None, name
        package = LazyPackage(name)
        package.__spec__, package.__path__, package.__file__ = spec, spec.submodule_search_locations or [], spec.origin
        sys.modules[name] = package
        if parent := name.rpartition(".")[0]:
            setattr(sys.modules[parent], name.rpartition(".")[2], package)
    vars(sys.modules["sse_starlette"])["EventSourceResponse"] = _event_source_response


def _event_source_response(*args: Any, **options: Any) -> Any:
    """Return an event stream; a stateless server with JSON responses makes none."""
    from sse_starlette.sse import EventSourceResponse

    return EventSourceResponse(*args, **options)


@contextmanager
def _late_validators() -> Iterator[None]:
    """Let the models that are defined inside build their validators at their first use."""
    before = pydantic.BaseModel.model_config
    pydantic.BaseModel.model_config = pydantic.ConfigDict(defer_build=True)
    try:
        yield
    finally:
        pydantic.BaseModel.model_config = before


@contextmanager
def _without_collection() -> Iterator[None]:
    """Let the garbage collector pass by what is made inside: it lives as long as the process."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


def _build_validators() -> None:
    """Build the validators that are still missing, so that no request after a restore waits for one."""
    classes = pydantic.BaseModel.__subclasses__()
    while classes:
        kind = classes.pop()
        classes += kind.__subclasses__()
        if not kind.__pydantic_complete__:
            kind.model_rebuild(raise_errors=False)
