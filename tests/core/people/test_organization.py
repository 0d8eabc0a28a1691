from dataclasses import replace

import pytest

from mcpist.caller import Role, Subject
from mcpist.errors import InvalidRequest, RoleInUse
from mcpist.people.organization import MAX_ROLES_PER_USER, Change, Organization, User

ISSUER = "https://login.example.com"
ADA = User("ada", "Ada", Subject(ISSUER, "1"), "admin", ("b", "a"))
UMA = User("uma", "Uma", Subject(ISSUER, "2"), roles=("a",), locale="ja")
ACME = Organization(
    "acme", "Acme", ("x.*",), {name: Role(name) for name in "abc"}, {user.id: user for user in (ADA, UMA)}
)


def test_what_its_items_keep_is_the_organization_again() -> None:
    assert Organization.from_items("acme", [ACME.head_item(1), *ACME.items()]) == ACME
    assert Organization.from_items("acme", []) is None


def test_an_organization_says_who_has_what() -> None:
    assert ACME.administrators == ("ada",)
    assert (ACME.users_with_role("a"), ACME.users_with_role("b"), ACME.users_with_role("c")) == (
        ("ada", "uma"),
        ("ada",),
        (),
    )


def test_what_is_not_there_is_named_with_what_is() -> None:
    with pytest.raises(InvalidRequest, match=r'there is no role "d" \(roles: a, b, c\)'):
        ACME.role("d")
    with pytest.raises(InvalidRequest, match=r'there is no user "eve" \(users: ada, uma\)'):
        ACME.without_user("eve")
    with pytest.raises(InvalidRequest, match=r'there is no role "d"'):
        ACME.without_role("d")
    with pytest.raises(RoleInUse, match='These users have the role "a": ada, uma'):
        ACME.without_role("a")
    assert list(ACME.without_role("c").roles) == ["a", "b"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (replace(ACME, id="a/b"), "organization"),
        (ACME.with_role(Role("a#b")), "roles.a#b"),
        (ACME.with_user(replace(UMA, id="u/1")), "users.u/1"),
        (ACME.with_user(replace(UMA, roles=("d",))), "users.uma.roles"),
        (ACME.with_user(replace(UMA, roles=("a", "a"))), "users.uma.roles"),
        (ACME.with_user(replace(UMA, subject=ADA.subject)), "users.uma.subject"),
        (ACME.with_user(replace(UMA, subject=Subject(ISSUER, ""))), "users.uma.subject"),
        (ACME.with_user(replace(UMA, subject=Subject("", "2"))), "users.uma.subject"),
        (ACME.with_user(replace(UMA, subject=Subject(f"{ISSUER}#2", "2"))), "users.uma.subject"),
    ],
)
def test_what_must_not_be_is_refused_with_its_place(wrong: Organization, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        wrong.validated()
    assert refused.value.details["field"] == field
    assert ACME.validated() is ACME


def test_a_users_items_always_fit_into_one_transaction() -> None:
    names = [f"r{number}" for number in range(2 * MAX_ROLES_PER_USER)]
    some, others = names[:MAX_ROLES_PER_USER], names[MAX_ROLES_PER_USER:]
    roles = {name: Role(name) for name in names}
    before = replace(ACME, roles=roles, users={"ada": replace(ADA, roles=tuple(some))})
    moved = replace(ADA, subject=Subject(ISSUER, "3"), roles=tuple(others))
    ((puts, deletes),) = Change(before, replace(before, users={"ada": moved})).transactions(is_new=False)
    assert (len(puts), len(deletes)) == (MAX_ROLES_PER_USER + 2, MAX_ROLES_PER_USER + 1)
    with pytest.raises(InvalidRequest, match="at most 40 roles"):
        replace(before, users={"ada": replace(ADA, roles=tuple(names))}).validated()


def test_a_large_change_that_breaks_off_anywhere_leaves_what_must_hold() -> None:
    roles = {name: Role(name) for name in (f"r{number:03}" for number in range(150))}
    users = {
        name: User(name, name, Subject(ISSUER, name), "user", ("r007", "r000"))
        for name in (f"u{number:03}" for number in range(60))
    }
    before = Organization("acme", "Acme", roles=roles, users={**users, "zoe": replace(ADA, id="zoe", roles=())})
    heir = replace(users["u050"], system_role="admin", roles=("new",))
    kept = {"u001": replace(users["u001"], roles=("new",)), "u050": heir}
    after = Organization("acme", "Acme", roles={"new": Role("new")}, users=kept)
    standing = {(item["pk"], item["sk"]): item for item in (*before.items(), *before.access_items())}
    parts = list(Change(before, after).transactions(is_new=False))
    for puts, deletes in parts:
        assert len(puts) + len(deletes) <= 99
        standing |= {(item["pk"], item["sk"]): item for item in puts}
        for item in deletes:
            del standing[item["pk"], item["sk"]]
        own = [item for (pk, _), item in standing.items() if pk == "org#acme"]
        partly = Organization.from_items("acme", [after.head_item(1), *own])
        assert partly
        assert partly.validated().administrators
        assert {item["user"] for (pk, _), item in standing.items() if pk != "org#acme"} == set(partly.users)
    assert partly == after
    assert len(parts) > 3


def test_a_change_concerns_those_whose_access_it_alters_and_no_change_everybody() -> None:
    def affected_users(after: Organization) -> set[str]:
        return Change(ACME, after).affected_users()

    assert affected_users(ACME.with_role(Role("b", modules=("rag",)))) == {"ada"}
    assert affected_users(ACME.with_role(Role("d"))) == set()
    assert affected_users(replace(ACME, disabled=())) == {"ada", "uma"}
    assert affected_users(ACME.with_user(replace(UMA, locale="en"))) == {"uma"}
    assert affected_users(ACME.without_user("uma")) == set()
    assert affected_users(ACME) == {"ada", "uma"}
