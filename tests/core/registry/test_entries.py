from dataclasses import replace

import pytest

from mcpist.caller import Caller, Role, Subject
from mcpist.errors import AuthorizationError, InvalidRequest, McpistError, ModuleNotFound, ToolDisabled, ToolNotFound
from mcpist.people import directory
from mcpist.people.change import Change
from mcpist.registry.entries import Filter, Registry, RegistryEntry, disable, enable
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.access.role_rules import is_disabled
from mcpist.tools.declare.module import FIRST_RELEASE
from mcpist.tools.search.catalogue import Catalogue
from mcpist.tools.search.index import Index, ModuleEntry
from tests import members
from tests.core.sample import CATALOGUE, EVERYTHING, permissions

READER = Role("reader", ("shop",))


def registry(*roles: Role, disabled: tuple[str, ...] = (), everything: bool = False) -> Registry:
    return Registry(permissions(*roles, disabled=disabled), everything=everything)


def names(entries: object) -> list[str]:
    assert isinstance(entries, list)
    return [entry.name for entry in entries]


def test_an_entry_has_all_metadata_of_its_tool() -> None:
    assert registry(READER).get("shop.get_item") == RegistryEntry(
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
    assert "shop.get_item" in names(of.list(Filter(category=shop["category"].upper())))
    assert of.list(Filter(category="no such")) == of.list(Filter(tag="no such")) == []
    for tag in shop["tags"]:
        assert "shop.get_item" in names(of.list(Filter(tag=tag.upper())))


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
    found = registry(EVERYTHING).search("item", Filter(effect="writes"))
    assert {entry.effect for entry, _ in found} == {"writes"}


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
    assert registry(READER).get("shop.get_item").version == "1.0.0"


UMA = Subject("https://login.example.com", "uma")
ALL_TOOLS = Role("everything", ("shop", "safe"), allow=("*",), destructive=True)


@pytest.fixture
def acme(aws: list[str]) -> str:
    members.put_organization("acme", name="Acme")
    members.put_role("acme", ALL_TOOLS)
    members.put_user("acme", "uma", name="Uma", subject=UMA, roles=["everything"])
    aws.clear()
    return "acme"


def uma() -> Caller:
    """Return Uma as a sandbox sees her that has read nothing yet."""
    directory.access_cache.clear()
    return directory.identify(UMA)


def switch_off(organization: str, name: str) -> Change:
    return directory.change(organization, disable(CATALOGUE, name))


def switch_on(organization: str, name: str) -> Change:
    return directory.change(organization, enable(CATALOGUE, name))


def refusal(name: str) -> McpistError | None:
    try:
        Permissions(uma(), CATALOGUE).tool(*name.split("."))
    except McpistError as error:
        return error
    return None


def test_a_tool_is_switched_off_and_on_for_everybody(acme: str) -> None:
    changed = switch_off(acme, "shop.create_item")
    assert (changed.before.disabled, changed.after.disabled) == ((), ("shop.create_item",))
    assert isinstance(refusal("shop.create_item"), ToolDisabled)
    assert refusal("shop.get_item") is None
    switch_on(acme, "shop.create_item")
    assert refusal("shop.create_item") is None


def test_a_module_is_switched_off_with_all_its_tools(acme: str) -> None:
    switch_off(acme, "shop")
    assert isinstance(refusal("shop.get_item"), ToolDisabled)
    with pytest.raises(ToolDisabled):
        Permissions(uma(), CATALOGUE).module("shop")
    assert [module.name for module in Permissions(uma(), CATALOGUE).modules()] == ["safe"]
    switch_on(acme, "shop")
    assert refusal("shop.get_item") is None


def test_a_tool_keeps_its_own_switch_while_its_module_is_off(acme: str) -> None:
    for name in ("shop.get_item", "shop"):
        switch_off(acme, name)
    switch_on(acme, "shop")
    assert isinstance(refusal("shop.get_item"), ToolDisabled)


@pytest.mark.parametrize("mask", ["shop", "shop.*", "*.get_item", "*"])
def test_a_tool_that_something_else_switches_off_is_not_reported_as_on(acme: str, mask: str) -> None:
    members.put_organization(acme, name="Acme", disabled=["shop.get_item", mask])
    with pytest.raises(InvalidRequest, match="also switched off by"):
        switch_on(acme, "shop.get_item")
    assert directory.read(acme).disabled == ("shop.get_item", mask)


def test_a_module_that_a_mask_of_org_set_switches_off_is_switched_on(acme: str) -> None:
    members.put_organization(acme, name="Acme", disabled=["shop.*"])
    switch_on(acme, "shop")
    assert directory.read(acme).disabled == ()


@pytest.mark.parametrize(("name", "kind"), [("shp", ModuleNotFound), ("shop.get_itm", ToolNotFound)])
def test_only_what_exists_can_be_switched(acme: str, name: str, kind: type[McpistError]) -> None:
    for switch in (switch_off, switch_on):
        with pytest.raises(kind):
            switch(acme, name)


def test_switching_off_twice_changes_nothing_more(acme: str) -> None:
    for _ in range(2):
        switch_off(acme, "shop")
    assert directory.read(acme).disabled == ("shop",)


def test_a_module_is_not_switched_off_by_the_name_of_one_it_begins_with() -> None:
    assert not is_disabled("notes.read", "find", ("notes",))
    assert is_disabled("notes", "find", ("notes",))


@pytest.mark.usefixtures("acme")
def test_a_warm_caller_costs_no_request_and_sees_a_switch_within_the_caches_time(aws: list[str]) -> None:
    before = uma()
    aws.clear()
    assert directory.identify(UMA) is not None
    Permissions(before, CATALOGUE).tool("shop", "get_item")
    assert aws == []
    assert directory.ACCESS_CACHE_SECONDS <= 5


def test_a_module_that_is_off_is_not_read(acme: str) -> None:
    class Unread(Catalogue):
        def load_tools(self, names: object) -> None:
            assert not names

    switch_off(acme, "shop")
    switch_off(acme, "safe")
    of = Permissions(uma(), Unread("tests.core.sample", ("shop", "safe")))
    assert of.search("find an item") == []
    with pytest.raises(ToolDisabled):
        of.module("shop")
