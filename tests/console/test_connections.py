"""The list of accounts asks AWS as often as there is something new to know."""

from mcpist.memory import forget_entries
from tests.console.conftest import Browser, put_app


def test_a_second_look_at_the_accounts_asks_for_no_provider_again(uma: Browser, aws: list[str]) -> None:
    forget_entries()
    aws.clear()
    uma.get("/connect")
    first = aws.count("GetParameter")
    aws.clear()
    uma.get("/connect")
    assert first > 0
    assert "GetParameter" not in aws


def test_the_page_of_a_service_sees_at_once_that_it_was_set_up(uma: Browser) -> None:
    assert "Not set up" in uma.get("/connect")["body"]
    put_app("notion", forget=False)
    assert 'value="begin"' in uma.get("/connect/notion")["body"]
