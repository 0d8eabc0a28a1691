from dataclasses import replace

import pytest

from mcpist.caller import Role
from mcpist.errors import AuthorizationError, McpistError, ModuleNotFound, ToolDisabled, ToolNotFound
from mcpist.registry.entries import Entry, Filter, Registry
from mcpist.tools.index import Index, ModuleEntry
from mcpist.tools.module import FIRST_RELEASE
from tests.core.sample import CATALOGUE, EVERYTHING, permissions

READER = Role("reader", ("shop",))


def registry(*roles: Role, disabled: tuple[str, ...] = (), everything: bool = False) -> Registry:
    return Registry(permissions(*roles, disabled=disabled), everything=everything)


def names(entries: object) -> list[str]:
    assert isinstance(entries, list)
    return [entry.name for entry in entries]


def test_an_entry_has_all_metadata_of_its_tool() -> None:
    assert registry(READER).get("shop.get_item") == Entry(
        name="shop.get_item",
        module="shop",
        tool="get_item",
        source="service",
        effect="reads",
        description=CATALOGUE.index.modules["shop"].tools["get_item"].summary,
        signature=CATALOGUE.index.modules["shop"].tools["get_item"].signature,
        version=CATALOGUE.module("shop").about["version"],
        enabled=True,
        registered_at=FIRST_RELEASE,
        tags=tuple(CATALOGUE.module("shop").about["tags"]),
        category=CATALOGUE.module("shop").about["category"],
        author="MCPist",
        dependencies=("shop",) if CATALOGUE.module("shop").service else (),
    )


def test_a_list_has_the_callers_tools_also_those_that_are_switched_off() -> None:
    of = registry(READER, disabled=("shop.get_item",))
    assert names(of.list()) == ["shop.list_items", "shop.get_item"]
    assert [entry.enabled for entry in of.list()] == [True, False]
    assert names(of.list(Filter(enabled=False))) == ["shop.get_item"]
    assert names(of.list(Filter(enabled=True))) == ["shop.list_items"]


def test_an_administrator_may_list_the_tools_of_the_whole_organization() -> None:
    every = [f"{tool.module}.{tool.name}" for tool in CATALOGUE.index.tools]
    assert names(registry(everything=True).list()) == every
    assert names(registry().list()) == []


def test_a_list_is_filtered_by_every_field() -> None:
    of = registry(EVERYTHING)
    assert {entry.module for entry in of.list(Filter(module="safe"))} == {"safe"}
    assert {entry.effect for entry in of.list(Filter(effect="destroys"))} == {"destroys"}
    shop = CATALOGUE.module("shop").about
    assert "shop.get_item" in names(of.filter_by_category(shop["category"].upper()))
    assert of.filter_by_category("no such") == of.filter_by_tag("no such") == []
    for tag in shop["tags"]:
        assert "shop.get_item" in names(of.filter_by_tag(tag.upper()))


def test_a_module_is_listed_while_the_caller_has_a_tool_of_it() -> None:
    (shop,) = registry(READER, disabled=("shop",)).modules()
    assert (shop.name, shop.tool, shop.enabled, shop.tool_count) == ("shop", "", False, 2)
    assert registry(Role("none", ("shop",), deny=("*",))).modules() == []
    assert names(registry(everything=True).modules()) == ["shop", "safe"]
    assert names(registry(everything=True).modules(Filter(enabled=False))) == []


def test_a_search_has_scores_and_leaves_out_what_is_switched_off() -> None:
    (entry, best), *_ = registry(EVERYTHING).search("get an item of the shop")
    assert (entry.name, best) == ("shop.get_item", 1)
    off = registry(EVERYTHING, disabled=("shop.get_item",)).search("get an item of the shop")
    assert "shop.get_item" not in [entry.name for entry, _ in off]
    assert [score for _, score in off] == sorted((score for _, score in off), reverse=True)
    found = registry(EVERYTHING).search("item", Filter(effect="writes"), limit=1)
    assert [entry.effect for entry, _ in found] == ["writes"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nothing", ModuleNotFound),
        ("shop.nothing", ToolNotFound),
        ("safe", AuthorizationError),
        ("safe.list_jewels", AuthorizationError),
        ("shop.delete_item", AuthorizationError),
    ],
)
def test_what_is_not_the_callers_is_refused_as_elsewhere(name: str, kind: type[McpistError]) -> None:
    with pytest.raises(kind):
        registry(READER).get(name)


def test_what_is_switched_off_can_still_be_looked_at() -> None:
    of = registry(READER, disabled=("shop",))
    assert not of.get("shop").enabled
    assert not of.get("shop.get_item").enabled
    with pytest.raises(ToolDisabled):
        permissions(READER, disabled=("shop",)).tool("shop", "get_item")


def test_a_tool_may_have_a_version_of_its_own_which_the_index_keeps() -> None:
    shop = CATALOGUE.index.modules["shop"]
    newer = replace(shop.tools["get_item"], about={"version": "2.1.0"})
    module = replace(shop, tools={**shop.tools, "get_item": newer})
    again = Index.load(Index([module], CATALOGUE.index.words).dump())
    kept: ModuleEntry = again.modules["shop"]
    assert kept.tools["get_item"] == newer
    assert registry(READER).get_version("shop.get_item") == "1.0.0"
