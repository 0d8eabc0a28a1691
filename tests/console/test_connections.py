"""The list of accounts asks AWS as often as there is something new to know."""

from mcpist.memory import forget_entries
from tests.console.conftest import Browser, put_app

UNKNOWN = "Not set up"


def asked(aws: list[str]) -> list[str]:
    """Return the requests by which grants and apps can be read."""
    return sorted(name for name in aws if "Get" in name)


def test_all_providers_are_asked_for_by_one_request_and_not_again(uma: Browser, aws: list[str]) -> None:
    forget_entries()
    before = uma.get("/connect")["body"].count(UNKNOWN)
    put_app("google")
    put_app("notion")
    aws.clear()
    assert uma.get("/connect")["body"].count(UNKNOWN) == before - 2
    assert asked(aws) == ["BatchGetItem", "GetParameters"], "all grants and all apps by one request each"
    aws.clear()
    assert uma.get("/connect")["body"].count(UNKNOWN) == before - 2
    assert asked(aws) == ["BatchGetItem"]


def test_an_app_whose_parameter_is_wrong_spoils_no_other(uma: Browser) -> None:
    forget_entries()
    before = uma.get("/connect")["body"].count(UNKNOWN)
    put_app("google")
    put_app("notion", client_id="")
    assert uma.get("/connect")["body"].count(UNKNOWN) == before - 1


def test_the_page_of_a_service_sees_at_once_that_it_was_set_up(uma: Browser) -> None:
    assert UNKNOWN in uma.get("/connect")["body"]
    put_app("notion", forget=False)
    assert 'value="begin"' in uma.get("/connect/notion")["body"]
