import sys

import pytest

from mcpist.caller import Role
from mcpist.errors import AuthorizationError, InvalidRequest, McpistError, ModuleNotFound, ToolDisabled, ToolNotFound
from mcpist.tools.access.permissions import Permissions
from tests.core.sample import CATALOGUE, EVERYTHING, permissions

NEW = Role("new", modules=("shop",))


def names(of: Permissions) -> list[str]:
    return [tool.name for module in of.modules() for tool in of.tools(module)]


def refusal(of: Permissions, module: str, tool: str) -> McpistError:
    with pytest.raises(McpistError) as refused:
        of.tool(module, tool)
    return refused.value


def test_a_new_role_gets_what_reads_and_reveals_nothing() -> None:
    assert names(permissions(NEW)) == ["list_items", "get_item"]


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (Role("r", ("shop",), allow=("shop.create_item",)), ["list_items", "get_item", "create_item"]),
        (Role("r", ("shop",), allow=("*.create_*",)), ["list_items", "get_item", "create_item"]),
        (Role("r", ("shop",), allow=("shop.*",)), ["list_items", "get_item", "get_key", "create_item"]),
        (
            Role("r", ("shop",), allow=("shop.*",), destructive=True),
            ["list_items", "get_item", "get_key", "create_item", "delete_item"],
        ),
        (Role("r", ("shop",), destructive=True), ["list_items", "get_item"]),
        (Role("r", ("shop",), allow=("safe.*",)), ["list_items", "get_item"]),
        (Role("r", ("shop",), deny=("shop.get_*",)), ["list_items"]),
        (Role("r", ("shop",), allow=("*",), deny=("*.create_item", "*.get_key")), ["list_items", "get_item"]),
        (Role("r", ("shop",), allow=("*",), deny=("*",), destructive=True), []),
        (Role("r", (), allow=("*",), destructive=True), []),
    ],
)
def test_masks_decide_and_deny_wins(role: Role, expected: list[str]) -> None:
    assert names(permissions(role)) == expected


def test_masks_tell_upper_case_from_lower() -> None:
    assert "create_item" not in names(permissions(Role("r", ("shop",), allow=("SHOP.*",))))


def test_several_roles_add_up_and_one_roles_deny_is_its_own() -> None:
    writer = Role("writer", ("shop",), allow=("shop.create_item",), deny=("shop.get_item",))
    assert names(permissions(NEW, writer)) == ["list_items", "get_item", "create_item"]


def test_a_caller_without_roles_sees_nothing() -> None:
    assert names(permissions()) == []
    assert isinstance(refusal(permissions(), "shop", "list_items"), AuthorizationError)


def test_a_tool_that_is_not_the_callers_is_not_available() -> None:
    error = refusal(permissions(NEW), "shop", "create_item")
    assert error.as_dict() == {
        "code": "AUTHORIZATION_ERROR",
        "message": '"shop.create_item" is not available to you.',
        "hint": "Ask an administrator of your organization for access.",
        "details": {"name": "shop.create_item"},
    }


def test_a_tool_that_is_switched_off_says_so_only_to_those_who_would_have_it() -> None:
    off = ("shop.create_*", "shop.get_item")
    writer = Role("writer", ("shop",), allow=("shop.create_item",))
    assert isinstance(refusal(permissions(writer, disabled=off), "shop", "create_item"), ToolDisabled)
    assert isinstance(refusal(permissions(NEW, disabled=off), "shop", "create_item"), AuthorizationError)
    assert names(permissions(writer, disabled=off)) == ["list_items"]


def test_a_module_that_is_switched_off_says_so_only_to_those_who_would_have_it() -> None:
    assert isinstance(refusal(permissions(NEW, disabled=("shop.*",)), "shop", "get_item"), ToolDisabled)
    assert isinstance(refusal(permissions(disabled=("shop.*",)), "shop", "get_item"), AuthorizationError)
    with pytest.raises(ToolDisabled):
        permissions(NEW, disabled=("*",)).module("shop")


def test_an_unknown_tool_is_not_found_and_only_the_callers_tools_are_named() -> None:
    error = refusal(permissions(NEW), "shop", "create_itm")
    assert isinstance(error, ToolNotFound)
    assert error.text().hint == "Tools: get_item, list_items."
    assert refusal(permissions(EVERYTHING), "shop", "create_itm").text().hint.startswith("Tools: create_item")


def test_a_tool_may_be_written_with_its_module() -> None:
    of = permissions(NEW)
    written = [("shop", "shop.get_item"), ("shop", "get_item"), ("", "shop.get_item"), ("", "get_item")]
    assert {of.names(*one) for one in written} == {("shop", "get_item")}
    assert of.names("shop", "safe.get_item") == ("shop", "safe.get_item")
    with pytest.raises(InvalidRequest, match=r"name the module of this tool$"):
        of.names("", "list_jewels")  # of another role's module
    with pytest.raises(InvalidRequest, match=r"name a tool of this module$"):
        of.names("", "shop")


def test_an_unknown_module_is_not_found_and_only_the_callers_modules_are_named() -> None:
    error = refusal(permissions(NEW), "sfe", "list_jewels")
    assert isinstance(error, ModuleNotFound)
    assert error.text().hint == "Modules: shop."
    assert refusal(permissions(EVERYTHING), "sfe", "x").text().hint == "Modules: safe and 1 more."
    assert refusal(permissions(), "sfe", "x").text().hint == "Modules: none."


@pytest.mark.parametrize("tool", ["list_jewels", "no_such_tool"])
def test_a_module_that_exists_only_for_others_tells_nothing_of_its_tools(tool: str) -> None:
    error = refusal(permissions(NEW), "safe", tool)
    assert error.as_dict() == AuthorizationError(name=f"safe.{tool}").as_dict()
    with pytest.raises(AuthorizationError):
        permissions(NEW).module("safe")


def test_a_module_that_no_role_has_is_not_even_imported() -> None:
    CATALOGUE.written_module.cache_clear()
    sys.modules.pop("tests.core.sample.safe.tools", None)
    refusal(permissions(NEW), "safe", "list_jewels")
    assert "tests.core.sample.safe.tools" not in sys.modules
    assert permissions(EVERYTHING).tool("safe", "list_jewels").name == "list_jewels"


def test_what_may_be_called_is_what_is_listed() -> None:
    for role in (NEW, EVERYTHING, Role("r", ("shop", "safe"), allow=("*.get_*",), deny=("safe.*",))):
        of = permissions(role, disabled=("shop.get_key",))
        listed = {(module.name, tool.name) for module in of.modules() for tool in of.tools(module)}
        for name in CATALOGUE.names:
            for tool in CATALOGUE.module(name).tools.values():
                if (name, tool.name) in listed:
                    assert of.tool(name, tool.name) is tool
                else:
                    refusal(of, name, tool.name)
