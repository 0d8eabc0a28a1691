"""Invitations: what is refused when one is made, and who can use one."""

import time
from dataclasses import replace
from typing import Any

import pytest

from mcpist.aws.attributes import encode
from mcpist.aws.table import directory_table
from mcpist.caller import Role, Subject
from mcpist.errors import AlreadyExists, AuthorizationError, InvalidRequest, InvitationNotFound
from mcpist.people import directory, edits, invitations
from mcpist.people.administration import Administration
from tests import members

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


def accept(secret: str, subject: Subject = EVE) -> str:
    return invitations.accept("acme", secret, subject, "r2")


def change_time(secret: str, **seconds: int) -> None:
    """Let an invitation be as old, or as near its end, as a test needs."""
    found = invitations.read("acme", secret)
    assert found
    changed = replace(found, **seconds)
    directory_table().put({"pk": "invitations#acme", "sk": found.key} | encode(changed))


def test_a_link_is_used_once_and_by_the_first_person_alone(ada: Administration) -> None:
    secret = invite(ada)
    found = invitations.read("acme", secret)
    assert found
    assert invitations.claim("acme", found, EVE)
    assert accept(secret, Subject(EVE.issuer, "mallory")) == "invalid"
    assert accept(secret) == "joined"  # who was interrupted goes on
    assert accept(secret) == "already_member"
    assert accept(secret, Subject(EVE.issuer, "mallory")) == "invalid"


@pytest.mark.parametrize(("place", "secret"), [("", "x"), ("acme", ""), ("acme", "guessed"), ("globex", None)])
def test_another_link_leads_nowhere(ada: Administration, place: str, secret: str | None) -> None:
    assert invitations.read(place, invite(ada) if secret is None else secret) is None


def test_an_invitation_that_has_ended_is_neither_listed_nor_used(ada: Administration) -> None:
    secret = invite(ada)
    change_time(secret, expires_at=int(time.time()))
    assert invitations.find("acme") == []
    assert accept(secret) == "invalid"


def test_of_the_roles_those_count_that_there_still_are(ada: Administration) -> None:
    members.put_role("acme", Role("guests", modules=("rag",)))
    secret = invite(ada, roles=("guests", "members"))
    ada.change("roles.delete", "roles.guests", edits.remove_role("guests"))
    assert accept(secret) == "joined"
    assert directory.identify(EVE).role_names == ("members",)


def test_a_user_id_that_somebody_else_has_by_now_is_taken(ada: Administration) -> None:
    secret = invite(ada)
    members.put_user("acme", "eve", name="Eve", subject=Subject(EVE.issuer, "another"), roles=["members"])
    assert accept(secret) == "taken"


def test_the_newest_invitation_comes_first_and_is_withdrawn_by_its_user_or_its_key(ada: Administration) -> None:
    old = invite(ada)
    change_time(old, created_at=1)
    invite(ada, "mia")
    newest, oldest = invitations.find("acme")
    assert (newest.user, oldest.user) == ("mia", "eve")
    invitations.withdraw(ada, "no such key")
    invitations.withdraw(ada, oldest.key)
    invitations.withdraw_of(ada, "mia")
    assert invitations.find("acme") == []
    with pytest.raises(InvitationNotFound):
        invitations.withdraw_of(ada, "mia")
    assert accept(old) == "invalid"


def test_an_invitation_lasts_for_the_days_that_it_says(ada: Administration) -> None:
    for user, days in (("eve", 1), ("mia", invitations.MAX_INVITATION_DAYS)):
        found = invitations.read("acme", invite(ada, user, days=days))
        assert found
        assert found.expires_at - found.created_at == days * invitations.DAY_SECONDS
