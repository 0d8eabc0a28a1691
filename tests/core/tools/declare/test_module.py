import pytest

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call
from mcpist.tools.declare.module import Module, Scopes
from tests.core.sample import CATALOGUE
from tests.core.sample.shop.tools import shop


def ping() -> Call:
    """Ping."""
    return Call("GET", "/ping")


def test_a_module_is_described_by_the_first_line_of_its_docstring() -> None:
    assert (shop.name, shop.description, shop.api_version) == ("shop", "A shop. It sells what tests need.", "1")
    assert Module("empty", None, api_version="1").description == ""


def test_tools_are_in_the_order_of_their_declaration() -> None:
    assert list(shop.tools) == ["list_items", "get_item", "get_key", "create_item", "delete_item"]


def test_a_name_declared_twice_is_refused_at_import() -> None:
    module = Module("twice", "x", api_version="1")
    module.reads(shows("id"))(ping)
    with pytest.raises(ValueError, match=r"twice\.ping is declared twice"):
        module.writes(shows("id"))(ping)


@pytest.mark.parametrize(
    ("effect", "idempotent", "reveals"), [("reads", True, False), ("writes", False, False), ("destroys", False, False)]
)
def test_a_declaration_marks_what_a_tool_does(effect: str, idempotent: bool, reveals: bool) -> None:
    module = Module("marks", "x", api_version="1")
    assert getattr(module, effect)(shows("id"))(ping) is ping
    tool = module.tools["ping"]
    assert (tool.effect, tool.idempotent, tool.reveals) == (effect, idempotent, reveals)


def test_only_a_module_with_a_host_needs_a_grant() -> None:
    assert shop.service == "shop"
    assert Module("own", "x", api_version="1", open_store=list).service is None


@pytest.mark.parametrize(
    ("needed", "granted", "missing"),
    [
        (("read",), ("read",), None),
        (("read",), ("write", "other"), None),
        (("read",), ("all",), None),
        (("write",), ("read",), "write"),
        (("read", "write"), ("read",), "write"),
        (("read", "write"), ("other",), "read"),
        ((), ("other",), None),
        (("read",), (), None),
    ],
)
def test_the_first_scope_that_no_granted_one_includes_is_missing(
    needed: tuple[str, ...], granted: tuple[str, ...], missing: str | None
) -> None:
    scopes = Scopes(needed, implied_by={"read": ("write", "all"), "write": ("all",)})
    module = Module("scoped", "x", api_version="1", scopes=scopes)
    module.reads(shows("id"))(ping)
    assert module.missing_scope("ping", granted) == missing


def test_a_catalogue_imports_a_module_once_at_its_first_use() -> None:
    assert CATALOGUE.module("shop") is shop
    assert CATALOGUE.module("shop") is shop
