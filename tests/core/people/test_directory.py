import math
from dataclasses import replace

import pytest

from infra.local.login import LocalLogin
from mcpist.aws.attributes import Item
from mcpist.aws.table import directory_table
from mcpist.caller import Caller, Role, Subject
from mcpist.errors import (
    AuthorizationError,
    InvalidRequest,
    LastAdministrator,
    MembershipRequired,
    OrganizationAmbiguous,
    RoleInUse,
    StoreUnavailable,
    UserNotFound,
)
from mcpist.people import directory, edits, publication
from mcpist.people.change import ChangeOptions
from mcpist.people.organization import Organization, User
from tests import members

pytestmark = pytest.mark.usefixtures("organization")


@pytest.fixture
def uma(login: LocalLogin) -> Subject:
    return Subject(login.issuer, "uma")


def now(subject: Subject, organization: str = "") -> Caller:
    """Identify a subject without the cache."""
    directory.access_cache.clear()
    return directory.identify(subject, organization=organization)


def holders(role: str) -> list[str]:
    """Return the users of acme who have a role."""
    return sorted(directory.read("acme").users_with_role(role))


def give(subject: Subject, *roles: str, organization: str = "acme", user: str = "uma") -> None:
    members.put_user(organization, user, name="Uma", subject=subject, roles=roles)


def items(pk: str) -> list[Item]:
    return directory_table().query(pk)


def test_a_subject_is_identified_as_a_user_with_its_roles(uma: Subject, login: LocalLogin) -> None:
    caller = now(uma)
    assert (caller.organization, caller.user, caller.system_role, caller.locale) == ("acme", "uma", "user", "en")
    assert caller.role_names == ("members",)
    assert now(Subject(login.issuer, "ada")).system_role == "admin"


def test_the_first_request_costs_one_query_and_the_next_ones_none(aws: list[str], uma: Subject) -> None:
    directory.identify(uma)
    directory.identify(uma, organization="acme", roles=["members"])
    assert aws == ["Query"]
    now(uma)
    assert aws == ["Query", "Query"]


@pytest.mark.parametrize("subject", [Subject("https://other.example.com", "uma"), Subject("", "UMA")])
def test_a_subject_of_another_issuer_is_no_member(subject: Subject) -> None:
    with pytest.raises(MembershipRequired):
        now(subject)


def test_the_order_of_a_users_roles_is_kept(uma: Subject) -> None:
    for name in ("zoo", "alpha"):
        members.put_role("acme", Role(name))
    give(uma, "zoo", "members", "alpha")
    assert now(uma).role_names == ("zoo", "members", "alpha")
    give(uma, "alpha", "zoo")
    assert now(uma).role_names == ("alpha", "zoo")


def test_a_user_has_a_role_only_once(uma: Subject) -> None:
    give(uma, "members", "members")
    give(uma, "members")
    assert now(uma).role_names == ("members",)
    assert holders("members") == ["ada", "uma"]


def test_a_role_has_no_members_of_another_one_with_the_same_prefix(uma: Subject) -> None:
    members.put_role("acme", Role("mem"))
    give(uma, "mem")
    assert holders("mem") == ["uma"]
    assert holders("members") == ["ada"]


def test_a_user_loses_a_role_that_is_taken_away(uma: Subject) -> None:
    give(uma)
    assert now(uma).roles == ()
    assert holders("members") == ["ada"]


def test_a_request_can_choose_roles_by_their_names(uma: Subject) -> None:
    members.put_role("acme", Role("other", modules=("rag",)))
    give(uma, "members", "other")
    directory.access_cache.clear()
    assert directory.identify(uma, roles=["other"]).roles == (Role("other", modules=("rag",)),)
    with pytest.raises(AuthorizationError) as refused:
        directory.identify(uma, roles=["other", "admins"])
    assert refused.value.details == {"name": "role admins"}


def test_a_changed_role_applies_to_all_users_who_have_it(uma: Subject, login: LocalLogin) -> None:
    changed = Role("members", modules=("rag",), allow=("rag.*",), deny=("rag.delete_*",), destructive=True)
    members.put_role("acme", changed)
    assert now(uma).roles == (changed,)
    assert now(Subject(login.issuer, "ada")).roles == (changed,)


def test_tools_that_are_switched_off_are_so_for_all_users(uma: Subject, login: LocalLogin) -> None:
    members.put_organization("acme", name="Acme", disabled=["github.*"])
    assert now(uma).disabled == now(Subject(login.issuer, "ada")).disabled == ("github.*",)


def test_a_role_of_few_users_changes_with_their_access_in_one_transaction(aws: list[str], login: LocalLogin) -> None:
    for number in range(5):
        give(Subject(login.issuer, f"u{number}"), "members", user=f"u{number}")
    aws.clear()
    members.put_role("acme", Role("members", modules=("rag",)))
    assert sorted(aws) == ["GetItem", "Query", "TransactWriteItems"]
    assert now(Subject(login.issuer, "u4")).roles[0].modules == ("rag",)


def test_a_change_of_one_user_costs_the_same_requests_however_many_there_are(aws: list[str], login: LocalLogin) -> None:
    def costs(number: int) -> list[list[str]]:
        edits_of_one = (
            edits.add_user(f"new{number}", sub=f"new{number}", name="New", roles=("members",)),
            edits.change_user(f"new{number}", sub=f"newer{number}", roles=()),
            edits.remove_user(f"new{number}"),
        )
        seen = []
        for edit in edits_of_one:
            aws.clear()
            directory.change("acme", edit)
            seen.append(sorted(aws))
        return seen

    small = costs(1)
    assert all("Query" not in seen or seen.count("Query") == 1 for seen in small)
    crowd = {name: User(name, name, Subject(login.issuer, name), roles=("members",)) for name in map(str, range(300))}
    directory.change("acme", lambda acme: replace(acme, users={**acme.users, **crowd}))
    assert costs(2) == small
    assert directory.read("acme").issuers == {login.issuer: 302}


def test_the_last_administrator_stays_where_only_one_user_is_read(login: LocalLogin) -> None:
    for edit in (edits.change_user("ada", system_role="user"), edits.remove_user("ada")):
        with pytest.raises(LastAdministrator):
            directory.change("acme", edit)
    directory.change("acme", edits.change_user("uma", system_role="admin"))
    directory.change("acme", edits.change_user("ada", system_role="user"))
    with pytest.raises(LastAdministrator):
        directory.change("acme", edits.remove_user("uma"))
    assert now(Subject(login.issuer, "uma")).system_role == "admin"


def test_a_users_edit_names_what_there_is_where_it_is_refused(uma: Subject) -> None:
    with pytest.raises(InvalidRequest, match="another user of acme has this subject: uma"):
        directory.change("acme", edits.add_user("eve", sub=uma.sub, name="Eve"))
    with pytest.raises(InvalidRequest, match=r'there is no role "bosses" \(roles: members\)'):
        directory.change("acme", edits.add_user("eve", sub="eve", name="Eve", roles=("bosses",)))
    with pytest.raises(UserNotFound, match="uma"):
        directory.change("acme", edits.remove_user("umaa"))


def many(login: LocalLogin, users: int) -> None:
    """Give acme more users than one transaction can publish."""
    crowd = {name: User(name, name, Subject(login.issuer, name), roles=("members",)) for name in map(str, range(users))}
    directory.change("acme", lambda acme: replace(acme, users={**acme.users, **crowd}))


def test_a_change_that_concerns_many_users_is_published_to_those_alone(aws: list[str], login: LocalLogin) -> None:
    members.put_role("acme", Role("others"))
    many(login, 60)
    give(Subject(login.issuer, "eve"), "others", user="eve")
    aws.clear()
    members.put_role("acme", Role("members", modules=("rag",)))
    assert (aws.count("PutItem"), aws.count("Query"), aws.count("TransactWriteItems")) == (62, 1, 1)
    assert now(Subject(login.issuer, "59")).roles[0].modules == ("rag",)
    assert publication.unfinished(math.inf) == []


def test_repeating_an_interrupted_publication_writes_only_the_rest(aws: list[str], login: LocalLogin) -> None:
    many(login, 60)
    stale = [items(f"subject#{login.issuer}#{user}")[0] for user in ("7", "8")]
    members.put_role("acme", Role("members", modules=("rag",)))
    for access in stale:
        directory_table().put(access)
    aws.clear()
    members.put_role("acme", Role("members", modules=("rag",)))
    assert sorted(aws) == ["BatchGetItem", "GetItem", "PutItem", "PutItem", "Query"]
    assert now(Subject(login.issuer, "8")).roles[0].modules == ("rag",)


def test_a_slow_publication_does_not_replace_a_later_one(uma: Subject) -> None:
    version, before = directory.read_version("acme")
    members.put_role("acme", Role("members", modules=("rag",)))
    publication.publish(version, before, {"uma"})
    assert now(uma).roles[0].modules == ("rag",)


def test_a_member_of_several_organizations_must_name_one(uma: Subject) -> None:
    members.put_organization("globex", name="Globex")
    members.put_role("globex", Role("guests"))
    give(uma, "guests", organization="globex", user="mrs-u")
    with pytest.raises(OrganizationAmbiguous) as unclear:
        now(uma)
    assert unclear.value.text().message == "You are a member of several organizations: acme, globex."
    assert now(uma, "acme").user == "uma"
    assert now(uma, "globex").user == "mrs-u"
    assert now(uma, "globex").role_names == ("guests",)
    with pytest.raises(MembershipRequired):
        now(uma, "initech")


def test_a_users_former_subject_has_no_access(uma: Subject, login: LocalLogin) -> None:
    later = Subject(login.issuer, "uma-2")
    give(later, "members")
    assert now(later).role_names == ("members",)
    with pytest.raises(MembershipRequired):
        now(uma)
    assert items(f"subject#{login.issuer}#uma") == []


def test_a_subject_of_another_user_is_refused_and_nothing_changes(uma: Subject, login: LocalLogin) -> None:
    with pytest.raises(InvalidRequest, match=r"eve\.subject: another user of acme has this subject: uma"):
        members.put_user("acme", "eve", name="Eve", subject=uma, system_role="admin", roles=["members"])
    assert now(uma).user == "uma"
    assert holders("members") == ["ada", "uma"]
    with pytest.raises(InvalidRequest):
        give(Subject(login.issuer, "ada"), "members")
    assert now(uma).user == "uma"


def test_a_late_publication_does_not_restore_removed_access(uma: Subject, login: LocalLogin) -> None:
    stale = items(f"subject#{login.issuer}#uma")[0]
    give(Subject(login.issuer, "uma-2"), "members")
    publication.replace_access_item(stale)
    with pytest.raises(MembershipRequired):
        now(uma)


def test_a_role_that_does_not_exist_is_refused_and_nothing_changes(uma: Subject) -> None:
    with pytest.raises(InvalidRequest, match=r'roles: there is no role "bosses" \(roles: members\)'):
        give(uma, "bosses")
    assert now(uma).role_names == ("members",)


@pytest.mark.parametrize("reserved", ["categories", "readonly"])
def test_no_organization_takes_the_place_of_another_address(reserved: str) -> None:
    with pytest.raises(InvalidRequest):
        members.put_organization(reserved, name="Acme")


@pytest.mark.parametrize("bad", ["", "a#b", "a/b", "a\nb", "a" * 129, ".", ".."])
def test_an_id_that_could_be_another_key_or_that_the_broker_refuses_is_refused(bad: str, uma: Subject) -> None:
    with pytest.raises(InvalidRequest):
        members.put_organization(bad, name="x")
    with pytest.raises(InvalidRequest):
        members.put_role("acme", Role(bad))
    with pytest.raises(InvalidRequest):
        give(uma, user=bad)


@pytest.mark.parametrize("dotted", ["...", ".a", "a.", "..a", "uma@example.com"])
def test_an_id_may_have_dots(dotted: str, uma: Subject) -> None:
    give(replace(uma, sub="dotted"), user=dotted)
    assert dotted in directory.read("acme").users


def test_no_user_is_called_like_the_operator(uma: Subject) -> None:
    with pytest.raises(InvalidRequest, match="the audit names the operator"):
        give(uma, user="operator")


def test_the_cache_of_access_items_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory.access_cache, "max_entries", 2)
    for sub in ("ada", "b", "c"):
        with pytest.raises(MembershipRequired):
            directory.identify(Subject("https://other.example.com", sub))
    assert len(directory.access_cache) <= 2


def demoted(organization: Organization, user: str) -> Organization:
    return organization.with_user(replace(organization.user(user), system_role="user"))


def promote_uma() -> None:
    directory.change("acme", lambda acme: acme.with_user(replace(acme.user("uma"), system_role="admin")))


def test_the_last_administrator_is_neither_demoted_nor_removed(login: LocalLogin) -> None:
    for edit in (lambda acme: demoted(acme, "ada"), lambda acme: acme.without_user("ada")):
        with pytest.raises(LastAdministrator):
            directory.change("acme", edit)
    with pytest.raises(LastAdministrator):
        members.put_user("acme", "ada", name="Ada", subject=Subject(login.issuer, "ada"))
    assert now(Subject(login.issuer, "ada")).system_role == "admin"


def test_if_two_administrators_demote_each_other_at_once_one_remains(uma: Subject) -> None:
    promote_uma()
    seen: list[tuple[str, ...]] = []

    def demote_uma(acme: Organization) -> Organization:
        seen.append(acme.administrators)
        if len(seen) == 1:  # between what was read and what is written, uma demotes ada
            directory.change("acme", lambda now: demoted(now, "ada"))
        return demoted(acme, "uma")

    with pytest.raises(LastAdministrator):
        directory.change("acme", demote_uma)
    assert seen == [("ada", "uma"), ("uma",)]
    assert directory.read("acme").administrators == ("uma",)
    assert now(uma).system_role == "admin"


def test_a_role_that_a_user_gets_during_its_removal_remains(uma: Subject) -> None:
    members.put_role("acme", Role("writers"))
    calls: list[str] = []

    def without(acme: Organization) -> Organization:
        if not calls:
            calls.append("first")
            give(uma, "writers")
        return acme.without_role("writers")

    with pytest.raises(RoleInUse, match=r"writers.*uma"):
        directory.change("acme", without)
    assert now(uma).role_names == ("writers",)


def test_a_change_that_always_meets_another_one_gives_up_and_changes_nothing() -> None:
    names = [f"Acme {number}" for number in range(20)]

    def late(acme: Organization) -> Organization:
        members.put_organization("acme", name=names.pop())
        return acme.with_role(Role("never"))

    with pytest.raises(StoreUnavailable):
        directory.change("acme", late)
    assert "never" not in directory.read("acme").roles


def test_a_removed_user_has_no_access_and_no_items(uma: Subject) -> None:
    directory.change("acme", lambda acme: acme.without_user("uma"))
    with pytest.raises(MembershipRequired):
        now(uma)
    assert items(f"subject#{uma.issuer}#uma") == []
    assert not [item for item in items("org#acme") if "uma" in item["sk"]]
    give(uma)
    assert now(uma).roles == ()


def test_a_role_can_be_removed_once_nobody_has_it() -> None:
    with pytest.raises(RoleInUse):
        directory.change("acme", lambda acme: acme.without_role("members"))
    members.put_role("acme", Role("spare"))
    directory.change("acme", lambda acme: acme.without_role("spare"))
    assert list(directory.read("acme").roles) == ["members"]


def test_a_dry_run_checks_everything_and_writes_nothing(aws: list[str]) -> None:
    before = directory.read("acme")
    aws.clear()
    made = directory.change("acme", lambda acme: acme.with_role(Role("new")), ChangeOptions(dry_run=True))
    assert (made.before, list(made.after.roles)) == (before, ["members", "new"])
    with pytest.raises(LastAdministrator):
        directory.change("acme", lambda acme: demoted(acme, "ada"), ChangeOptions(dry_run=True))
    assert set(aws) == {"GetItem", "Query"}


def test_organizations_are_created_once_and_listed(uma: Subject) -> None:
    directory.create(Organization("globex", "Globex"))
    assert directory.organizations() == ["acme", "globex"]
    with pytest.raises(InvalidRequest, match='there is an organization "acme" already'):
        directory.create(Organization("acme", "Other"))
    for asked in (directory.read, lambda name: members.put_role(name, Role("r"))):
        with pytest.raises(InvalidRequest, match=r'no organization "initech" \(organizations: acme, globex\)'):
            asked("initech")
    with pytest.raises(InvalidRequest):
        give(uma, organization="initech")


def crowd(login: LocalLogin) -> Organization:
    """Return an organization that needs several transactions."""
    roles = {name: Role(name, modules=("rag",)) for name in (f"r{number:03}" for number in range(90))}
    people = {
        name: User(name, name.title(), Subject(login.issuer, name), "user", ("r007", "r000"))
        for name in (f"u{number:03}" for number in range(10))
    }
    boss = User("zoe", "Zoe", Subject(login.issuer, "zoe"), "admin")
    return Organization("globex", "Globex", (), roles, {**people, "zoe": boss})


def test_a_large_organization_is_read_as_it_was_written(aws: list[str], login: LocalLogin) -> None:
    whole = crowd(login)
    directory.replace_organization(whole)
    assert aws.count("TransactWriteItems") == 3
    assert directory.read("globex") == whole
    assert now(Subject(login.issuer, "u009")).role_names == ("r007", "r000")
    aws.clear()
    made = directory.replace_organization(whole)
    assert made.before == made.after
    assert "TransactWriteItems" not in aws
    fewer = replace(whole, roles={"r000": Role("r000")}, users={"zoe": whole.users["zoe"]})
    directory.replace_organization(fewer)
    assert directory.read("globex") == fewer
    assert {item["sk"] for item in items("org#globex")} == {"org", "role#r000", "user#zoe"}
    with pytest.raises(MembershipRequired):
        now(Subject(login.issuer, "u009"))


def test_an_organization_without_an_administrator_cannot_be_written() -> None:
    with pytest.raises(LastAdministrator):
        directory.replace_organization(Organization("globex", "Globex"))
    assert directory.organizations() == ["acme"]


def test_two_users_can_exchange_their_subjects(uma: Subject, login: LocalLogin) -> None:
    acme = directory.read("acme")
    ada = Subject(login.issuer, "ada")
    users = {"ada": replace(acme.users["ada"], subject=uma), "uma": replace(acme.users["uma"], subject=ada)}
    directory.change("acme", lambda before: replace(before, users=users))
    assert (now(uma).user, now(uma).system_role) == ("ada", "admin")
    assert (now(ada).user, now(ada).system_role) == ("uma", "user")


def test_repeating_a_change_that_was_not_published_completes_it(uma: Subject) -> None:
    table, (access,) = directory_table(), items(f"subject#{uma.issuer}#uma")
    members.put_role("acme", Role("members", modules=("rag",)))
    table.put(access)
    assert now(uma).roles != (Role("members", modules=("rag",)),)
    members.put_role("acme", Role("members", modules=("rag",)))
    assert now(uma).roles == (Role("members", modules=("rag",)),)


def test_an_organization_that_was_stored_without_a_version_gets_one_by_its_first_change(uma: Subject) -> None:
    table = directory_table()
    table.put({"pk": "org#acme", "sk": "org", "name": "Acme", "disabled": ["rag.*"]})
    table.delete("orgs", "org#acme")
    (access,) = items(f"subject#{uma.issuer}#uma")
    table.put({name: value for name, value in access.items() if name != "version"})
    give(uma, "members")
    members.put_role("acme", Role("new"))
    assert now(uma).disabled == ("rag.*",)
    assert directory.organizations() == ["acme"]
    assert directory.read("acme").name == "Acme"


def test_an_unchanged_organization_is_read_by_its_version_alone(aws: list[str], organization: str) -> None:
    before = directory.read_version(organization)
    aws.clear()
    assert directory.read_version(organization) == before
    assert aws == ["GetItem"]
    members.put_role(organization, Role("late", modules=("rag",)))
    aws.clear()
    version, changed = directory.read_version(organization)
    assert (version > before[0], "late" in changed.roles) == (True, True)
    assert aws == ["GetItem", "Query"]
