import pytest

from mcpist.caller import Caller, Role, Subject
from mcpist.errors import InvalidRequest, McpistError, ModuleNotFound, ToolDisabled, ToolNotFound
from mcpist.people import directory
from mcpist.people.change import Change
from mcpist.registry import switches
from mcpist.tools.catalogue import Catalogue
from mcpist.tools.permissions import Permissions
from mcpist.tools.role_rules import is_disabled
from tests.core.sample import CATALOGUE

UMA = Subject("https://login.example.com", "uma")
EVERYTHING = Role("everything", ("shop", "safe"), allow=("*",), destructive=True)


@pytest.fixture
def acme(aws: list[str]) -> str:
    directory.put_organization("acme", name="Acme")
    directory.put_role("acme", EVERYTHING)
    directory.put_user("acme", "uma", name="Uma", subject=UMA, roles=["everything"])
    aws.clear()
    return "acme"


def uma() -> Caller:
    """Return Uma as a sandbox sees her that has read nothing yet."""
    directory.access_cache.clear()
    return directory.identify(UMA)


def disable(organization: str, name: str) -> Change:
    return directory.change(organization, switches.disable(CATALOGUE, name))


def enable(organization: str, name: str) -> Change:
    return directory.change(organization, switches.enable(CATALOGUE, name))


def refusal(name: str) -> McpistError | None:
    try:
        Permissions(uma(), CATALOGUE).tool(*name.split("."))
    except McpistError as error:
        return error
    return None


def test_a_tool_is_switched_off_and_on_for_everybody(acme: str) -> None:
    changed = disable(acme, "shop.create_item")
    assert (changed.before.disabled, changed.after.disabled) == ((), ("shop.create_item",))
    assert isinstance(refusal("shop.create_item"), ToolDisabled)
    assert refusal("shop.get_item") is None
    enable(acme, "shop.create_item")
    assert refusal("shop.create_item") is None


def test_a_module_is_switched_off_with_all_its_tools(acme: str) -> None:
    disable(acme, "shop")
    assert isinstance(refusal("shop.get_item"), ToolDisabled)
    with pytest.raises(ToolDisabled):
        Permissions(uma(), CATALOGUE).module("shop")
    assert [module.name for module in Permissions(uma(), CATALOGUE).modules()] == ["safe"]
    enable(acme, "shop")
    assert refusal("shop.get_item") is None


def test_a_tool_keeps_its_own_switch_while_its_module_is_off(acme: str) -> None:
    for name in ("shop.get_item", "shop"):
        disable(acme, name)
    enable(acme, "shop")
    assert isinstance(refusal("shop.get_item"), ToolDisabled)


@pytest.mark.parametrize("mask", ["shop", "shop.*", "*.get_item", "*"])
def test_a_tool_that_something_else_switches_off_is_not_reported_as_on(acme: str, mask: str) -> None:
    directory.put_organization(acme, name="Acme", disabled=["shop.get_item", mask])
    with pytest.raises(InvalidRequest, match="also switched off by"):
        enable(acme, "shop.get_item")
    assert directory.read(acme).disabled == ("shop.get_item", mask)


def test_a_module_that_a_mask_of_org_set_switches_off_is_switched_on(acme: str) -> None:
    directory.put_organization(acme, name="Acme", disabled=["shop.*"])
    enable(acme, "shop")
    assert directory.read(acme).disabled == ()


@pytest.mark.parametrize(("name", "kind"), [("shp", ModuleNotFound), ("shop.get_itm", ToolNotFound)])
def test_only_what_exists_can_be_switched(acme: str, name: str, kind: type[McpistError]) -> None:
    for switch in (disable, enable):
        with pytest.raises(kind):
            switch(acme, name)


def test_switching_off_twice_changes_nothing_more(acme: str) -> None:
    for _ in range(2):
        disable(acme, "shop")
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

    disable(acme, "shop")
    disable(acme, "safe")
    of = Permissions(uma(), Unread("tests.core.sample", ("shop", "safe")))
    assert of.search("find an item") == []
    with pytest.raises(ToolDisabled):
        of.module("shop")
