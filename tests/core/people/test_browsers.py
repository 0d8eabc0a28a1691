"""The browsers in which a person is signed in."""

import time

import pytest

from mcpist.caller import Subject
from mcpist.people import browsers, directory

SOON = int(time.time()) + 3600
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Safari/604.1"


@pytest.fixture
def uma(organization: str, request: pytest.FixtureRequest) -> Subject:
    assert organization == "acme"
    return Subject("https://login.example.com", request.node.name)


def test_a_browser_is_signed_in_until_it_is_signed_out(uma: Subject) -> None:
    browsers.sign_in(uma, "secret-id", "acme", CHROME, expires_at=SOON)
    assert browsers.is_signed_in(uma, "secret-id")
    assert not browsers.is_signed_in(uma, "another")
    (found,) = browsers.find(uma)
    assert (found.organization, found.description) == ("acme", "Chrome, Linux")
    assert browsers.sign_out(uma, found.key) == [found]
    assert browsers.sign_out(uma, found.key) == []
    assert not browsers.is_signed_in(uma, "secret-id")


def test_the_id_of_a_session_is_stored_nowhere(uma: Subject) -> None:
    browsers.sign_in(uma, "secret-id", "acme", CHROME, expires_at=SOON)
    assert "secret-id" not in str(directory.read_subject(uma, fresh=True))


def test_a_browser_whose_session_has_ended_is_not_signed_in(uma: Subject) -> None:
    browsers.sign_in(uma, "secret-id", "acme", CHROME, expires_at=int(time.time()) - 1)
    assert not browsers.is_signed_in(uma, "secret-id")


def test_all_are_signed_out_at_once(uma: Subject) -> None:
    for number in range(3):
        browsers.sign_in(uma, f"id-{number}", "acme", SAFARI, expires_at=SOON)
    assert len(browsers.sign_out(uma)) == 3
    assert browsers.find(uma, fresh=True) == []


def test_of_too_many_the_oldest_are_signed_out(uma: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    for number in range(browsers.MAX_BROWSERS + 1):
        monkeypatch.setattr(time, "time", lambda number=number: now + number)
        browsers.sign_in(uma, f"id-{number}", "acme", "", expires_at=SOON)
    assert len(browsers.sign_out(uma, kept=browsers.MAX_BROWSERS - 1)) == 2
    assert len(browsers.find(uma)) == browsers.MAX_BROWSERS - 1, "there is room for one more"
    assert not browsers.is_signed_in(uma, "id-0")


def test_signing_in_changes_nothing_about_who_the_person_is(organization: str) -> None:
    assert organization == "acme"
    stranger = Subject("https://login.example.com", "nobody")
    browsers.sign_in(stranger, "id", "acme", "", expires_at=SOON)
    with pytest.raises(Exception, match="not a member"):
        directory.identify(stranger)


@pytest.mark.parametrize(("agent", "shown"), [(CHROME, "Chrome, Linux"), (SAFARI, "Safari, iPhone"), ("lynx", "lynx")])
def test_a_browser_is_described_for_people(agent: str, shown: str) -> None:
    assert browsers.describe(agent) == shown
