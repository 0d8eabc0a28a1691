"""Memberships: nobody is a user of an organization without a yes, and one organization is a person's default."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcpist.audit.record import audit_table
from mcpist.aws.table import directory_table
from mcpist.caller import Subject
from mcpist.errors import (
    AcceptanceRequired,
    AuthorizationError,
    LastAdministrator,
    MembershipRequired,
    OrganizationAmbiguous,
)
from mcpist.people import directory, edits, invitations, memberships
from mcpist.people.administration import Administration, operator
from mcpist.people.organization import Organization, User
from tests import members
from tests.audit_items import audit_items
from tests.core.people.conftest import FakeAccounts

type Capture = Callable[[Administration, Subject], object]

pytestmark = pytest.mark.usefixtures("organization")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    directory.access_cache.clear()
    yield
    directory.access_cache.clear()


@pytest.fixture
def mallory(login: LocalLogin, accounts: FakeAccounts) -> Administration:
    """The administration of another organization."""
    members.put_organization("globex", name="Globex")
    members.put_user("globex", "mallory", name="M", subject=Subject(login.issuer, "mallory"), system_role="admin")
    members.put_user("globex", "mole", name="Mole", subject=Subject(login.issuer, "mole"))
    return Administration(directory.identify(Subject(login.issuer, "mallory")), "r9", accounts)


@pytest.fixture
def uma(login: LocalLogin) -> Subject:
    """A user of acme alone."""
    return Subject(login.issuer, "uma")


def add(by: Administration, subject: Subject, **fields: Any) -> object:
    return by.change("users.create", "users.new", edits.add_user("new", sub=subject.sub, name="New", **fields))


def re_aim(by: Administration, subject: Subject) -> object:
    return by.change("users.update", "users.mole", edits.change_user("mole", sub=subject.sub))


def replace_all(by: Administration, subject: Subject) -> object:
    _, organization = by.read()
    return by.replace(organization.with_user(User("new", "New", subject, "admin")))


CAPTURES = pytest.mark.parametrize("capture", [add, re_aim, replace_all])


@CAPTURES
def test_who_is_added_elsewhere_stays_in_the_own_organization_alone(
    mallory: Administration, uma: Subject, capture: Capture
) -> None:
    capture(mallory, uma)
    directory.access_cache.clear()
    assert directory.identify(uma).organization == "acme"
    assert [caller.organization for caller in directory.identify_all(uma)] == ["acme"]
    with pytest.raises(AcceptanceRequired, match="globex"):
        directory.identify(uma, organization="globex")


@CAPTURES
def test_who_is_new_here_acts_nowhere_before_a_yes(
    mallory: Administration, login: LocalLogin, capture: Capture
) -> None:
    new = Subject(login.issuer, "new here")
    capture(mallory, new)
    for organization in ("", "globex"):
        with pytest.raises(AcceptanceRequired, match="globex"):
            directory.identify(new, organization=organization)
    with pytest.raises(AcceptanceRequired):
        directory.identify_all(new)
    memberships.answer(new, "globex", "accepted", "r1")
    assert directory.identify(new).organization == "globex"


@CAPTURES
def test_adding_a_known_identity_looks_the_same_as_an_unknown_one(
    mallory: Administration, uma: Subject, login: LocalLogin, capture: Capture
) -> None:
    def seen(subject: Subject) -> list[str]:
        capture(mallory, subject)
        version, organization = mallory.read()
        rows = [row["after"] for row in audit_items("globex")]
        found = [repr(directory.read("globex").users), repr(organization.users), repr(rows)]
        mallory.replace(before)
        for row in audit_items("globex"):
            audit_table().delete(row["pk"], row["sk"])
        assert version
        return [text.replace(subject.sub, "SUB") for text in found]

    _, before = mallory.read()
    assert seen(uma) == seen(Subject(login.issuer, "somebody unknown"))


def test_an_accepted_membership_counts_and_changes_nothing_of_requests_that_name_none(
    mallory: Administration, uma: Subject
) -> None:
    add(mallory, uma)
    memberships.answer(uma, "globex", "accepted", "r1")
    assert directory.identify(uma, organization="globex").user == "new"
    assert directory.identify(uma).organization == "acme"
    assert directory.known(uma).waiting == ()
    (row,) = [row for row in audit_items("globex") if row["tool"] == "memberships.accept"]
    assert (row["user"], row["target"], row["after"]["acceptance"]) == ("new", "users.new", "accepted")
    assert not [row for row in audit_items("acme") if row["tool"].startswith("memberships.")]
    memberships.answer(uma, "globex", "accepted", "r2")


def test_who_declined_is_not_asked_again_and_the_administrator_sees_it(mallory: Administration, uma: Subject) -> None:
    add(mallory, uma)
    memberships.answer(uma, "globex", "declined", "r1")
    assert directory.read("globex").user("new").acceptance == "declined"
    assert directory.known(uma).waiting == ()
    mallory.change("users.update", "users.new", edits.change_user("new", name="Again"))
    for given in ("accepted", "declined"):
        with pytest.raises(MembershipRequired):
            memberships.answer(uma, "globex", given, "r2")
    with pytest.raises(MembershipRequired):
        directory.identify(uma, organization="globex")


def test_a_declined_subject_is_still_one_user_of_the_organization(mallory: Administration, uma: Subject) -> None:
    add(mallory, uma)
    memberships.answer(uma, "globex", "declined", "r1")
    with pytest.raises(Exception, match="has this subject: new"):
        mallory.change("users.create", "users.more", edits.add_user("more", sub=uma.sub, name="More"))


def test_nobody_answers_for_another_person(mallory: Administration, uma: Subject, login: LocalLogin) -> None:
    add(mallory, uma)
    for sub in ("ada", "mallory", "nobody"):
        with pytest.raises(MembershipRequired):
            memberships.answer(Subject(login.issuer, sub), "globex", "declined", "r1")
    assert directory.read("globex").user("new").acceptance == "waiting"


def test_an_answer_to_a_membership_that_was_taken_back_changes_nothing(mallory: Administration, uma: Subject) -> None:
    add(mallory, uma)
    asked = directory.known(uma).waiting
    mallory.change("users.delete", "users.new", edits.remove_user("new"))
    directory.access_cache.put(uma, directory.KnownSubject(uma, []))
    assert asked
    with pytest.raises(MembershipRequired):
        memberships.answer(uma, "globex", "accepted", "r1")


def test_no_administrator_accepts_in_the_persons_place(mallory: Administration, uma: Subject) -> None:
    def accepted(before: Organization) -> Organization:
        return before.with_user(replace(before.user("new"), acceptance="accepted"))

    add(mallory, uma)
    mallory.change("users.update", "users.new", accepted)
    assert directory.read("globex").user("new").acceptance == "waiting"


def test_an_administrator_who_has_not_accepted_keeps_nobody_from_being_the_last(
    mallory: Administration, uma: Subject
) -> None:
    add(mallory, uma, system_role="admin")
    with pytest.raises(LastAdministrator):
        mallory.change("users.delete", "users.mallory", edits.remove_user("mallory"))
    memberships.answer(uma, "globex", "accepted", "r1")
    mallory.change("users.delete", "users.mallory", edits.remove_user("mallory"))
    assert directory.read("globex").administrators == ("new",)


def test_rights_in_aws_make_an_administrator_where_none_can_log_in(
    mallory: Administration, uma: Subject, accounts: FakeAccounts
) -> None:
    assert mallory
    by = Administration(operator("globex"), "", accounts)
    by.change("organization.restore", "users.root", edits.add_user("root", sub=uma.sub, name="R", system_role="admin"))
    assert directory.identify(uma, organization="globex").system_role == "admin"


def test_memberships_from_before_people_were_asked_stay(uma: Subject) -> None:
    table = directory_table()
    item = table.get("org#acme", "user#uma")
    assert item
    assert item.pop("acceptance") == "accepted"
    table.put(item)
    directory.organization_cache.clear()
    assert "acceptance" not in (table.get(directory.subject_key(uma), "org#acme") or {})
    members.put_role("acme", replace(directory.read("acme").role("members"), deny=("rag.search",)))
    directory.access_cache.clear()
    assert directory.read("acme").user("uma").acceptance == "accepted"
    assert directory.identify(uma).organization == "acme"


def test_requests_that_name_no_organization_go_to_the_chosen_one(mallory: Administration, uma: Subject) -> None:
    members.put_user("globex", "uma2", name="Uma", subject=uma)
    directory.access_cache.clear()
    with pytest.raises(OrganizationAmbiguous):
        directory.identify(uma)
    caller = directory.identify(uma, organization="acme")
    memberships.choose_default(caller, "globex", "r1")
    assert (directory.identify(uma).organization, directory.known(uma).default) == ("globex", "globex")
    assert directory.identify(uma, organization="acme") == caller
    (row,) = [row for row in audit_items("globex") if row["tool"] == "memberships.default"]
    assert "acme" not in repr(row)
    assert not [row for row in audit_items("acme") if row["tool"] == "memberships.default"]
    with pytest.raises(MembershipRequired):
        memberships.choose_default(caller, "initech", "r2")
    mallory.change("users.delete", "users.uma2", edits.remove_user("uma2"))
    directory.access_cache.clear()
    assert directory.identify(uma).organization == "acme", "a default of which one is no member counts no more"


def test_an_invitation_to_one_more_organization_leaves_the_default(mallory: Administration, uma: Subject) -> None:
    secret = invitations.invite(mallory, "guest", name="Guest", roles=(), locale="en", days=1)
    assert invitations.accept("globex", secret, uma, "r1") == "joined"
    assert directory.identify(uma).organization == "acme"
    assert directory.identify(uma, organization="globex").user == "guest"


def test_a_membership_that_waits_takes_part_in_changes_of_its_roles(mallory: Administration, uma: Subject) -> None:
    mallory.change("roles.create", "roles.readers", edits.add_role("readers"))
    add(mallory, uma, roles=("readers",))
    mallory.change("roles.update", "roles.readers", edits.change_role("readers", modules=("rag",)))
    memberships.answer(uma, "globex", "accepted", "r1")
    (role,) = directory.identify(uma, organization="globex").roles
    assert role.modules == ("rag",)


def test_a_waiting_person_has_no_right_by_a_role(mallory: Administration, uma: Subject) -> None:
    add(mallory, uma, system_role="admin")
    with pytest.raises(AuthorizationError):
        directory.identify(uma, organization="globex", roles=("members",))
