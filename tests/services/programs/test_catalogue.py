"""A program's module is a module like any other: permissions, switches, search, the registry."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcpist.caller import Caller, Role
from mcpist.errors import AuthorizationError, ModuleNotFound, ToolDisabled, ToolNotFound
from mcpist.memory import forget_all
from mcpist.registry.entries import Registry
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE, is_taken, preloads
from tests.core.files.callers import UMA

EXAMPLES = Path(__file__).parents[3] / "examples/programs"


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The programs of the examples."""
    monkeypatch.setenv("PROGRAMS", str(EXAMPLES))
    forget_all()
    yield
    monkeypatch.undo()
    forget_all()


def caller(*modules: str, allow: tuple[str, ...] = (), disabled: tuple[str, ...] = ()) -> Caller:
    return replace(UMA, roles=(Role("writing", modules=modules, allow=allow),), disabled=disabled)


def test_a_role_has_the_tools_that_read_and_those_that_it_allows() -> None:
    permissions = Permissions(caller("writers", "rag"), CATALOGUE)
    assert permissions.tool("writers", "quality_check").reads
    with pytest.raises(AuthorizationError):
        permissions.tool("writers", "create_episode")
    with pytest.raises(ToolNotFound):
        permissions.tool("writers", "missing")
    assert Permissions(caller("writers", allow=("writers.*",)), CATALOGUE).tool("writers", "create_episode")
    with pytest.raises(AuthorizationError):
        permissions.tool("jq", "transform")
    with pytest.raises(ModuleNotFound):
        permissions.tool("awk", "run")


@pytest.mark.parametrize("mask", ["writers", "writers.*", "writers.quality_check"])
def test_an_administrator_switches_it_off(mask: str) -> None:
    with pytest.raises(ToolDisabled):
        Permissions(caller("writers", disabled=(mask,)), CATALOGUE).tool("writers", "quality_check")


@pytest.mark.parametrize("query", ["proofread my manuscript", "小説の校正", "check the quality of drafts"])
def test_a_search_finds_it_in_both_languages(query: str) -> None:
    found = Permissions(caller("writers", "rag", "files", "github"), CATALOGUE).search(query, 3)
    assert ("writers", "quality_check") in [(one.module, one.name) for one in found]


def test_the_registry_knows_what_it_is() -> None:
    entry = Registry(Permissions(caller("writers"), CATALOGUE)).get("writers.quality_check")
    assert (entry.source, entry.version, entry.category, entry.effect) == ("program", "1.0.0", "writing", "reads")


def test_its_name_is_taken_and_a_snapshot_holds_what_it_needs(aws: list[str]) -> None:
    assert aws == []
    assert is_taken("writers")
    assert "mcpist_services.programs.module" in preloads()
