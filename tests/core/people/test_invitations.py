"""Invitations: what is refused when one is made, and who can use one."""

from dataclasses import replace
from typing import Any

import pytest

from mcpist.caller import Subject
from mcpist.errors import AlreadyExists, AuthorizationError, InvalidRequest, InvitationNotFound
from mcpist.people import directory, edits, invitations
from mcpist.people.administration import Administration

pytestmark = pytest.mark.usefixtures("organization")

EVE = Subject("https://issuer.example", "eve")


def invite(administration: Administration, user: str = "eve", **fields: Any) -> str:
    return invitations.invite(
        administration, user, **{"name": "Eve", "roles": ("members",), "locale": "en", "days": 7, **fields}
    )


def waiting() -> list[str]:
    return [one.user for one in invitations.find("acme")]


def test_an_invitation_makes_the_first_who_uses_it_a_user(ada: Administration) -> None:
    secret = invite(ada)
    assert waiting() == ["eve"]
    assert invitations.accept("acme", secret, EVE, "r2") == "joined"
    assert directory.identify(EVE).user == "eve"
    assert waiting() == []
    assert invitations.accept("acme", secret, EVE, "r3") == "already_member"
    assert invitations.accept("acme", secret, replace(EVE, sub="mallory"), "r4") == "invalid"


@pytest.mark.parametrize("user", ["uma", "eve"], ids=["a user", "somebody who is invited"])
def test_nobody_is_invited_twice(ada: Administration, user: str) -> None:
    secret = invite(ada)
    with pytest.raises(AlreadyExists):
        invite(ada, user)
    assert waiting() == ["eve"]
    assert invitations.read("acme", secret) is not None


def test_only_so_many_invitations_wait(ada: Administration, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invitations, "MAX_INVITATIONS", 2)
    invite(ada, "eve")
    invite(ada, "eva")
    with pytest.raises(InvalidRequest, match="at most 2 invitations wait"):
        invite(ada, "ewa")
    assert sorted(waiting()) == ["eva", "eve"]


@pytest.mark.parametrize("wrong", [{"days": 0}, {"days": 31}, {"roles": ("bosses",)}, {"user": "a#b"}], ids=str)
def test_what_no_user_could_be_is_not_invited(ada: Administration, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        invite(ada, **wrong)
    assert waiting() == []


def test_only_administrators_invite_and_withdraw(ada: Administration, uma: Administration) -> None:
    invite(ada)
    for refused in (lambda: invite(uma, "eva"), lambda: invitations.withdraw_of(uma, "eve")):
        with pytest.raises(AuthorizationError):
            refused()
    assert waiting() == ["eve"]


def test_a_withdrawn_invitation_is_gone(ada: Administration) -> None:
    secret = invite(ada)
    invitations.withdraw_of(ada, "eve")
    assert invitations.accept("acme", secret, EVE, "r2") == "invalid"
    with pytest.raises(InvitationNotFound):
        invitations.withdraw_of(ada, "eve")


def test_an_invitation_of_somebody_who_administers_no_more_is_useless(ada: Administration) -> None:
    secret = invite(ada)
    directory.change("acme", edits.change_user("uma", system_role="admin"))
    directory.change("acme", edits.change_user("ada", system_role="user"))
    assert invitations.accept("acme", secret, EVE, "r2") == "invalid"
