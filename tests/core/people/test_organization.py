from dataclasses import replace

import pytest

from mcpist.caller import Role, Subject
from mcpist.errors import InvalidRequest, RoleInUse, RoleNotFound, UserNotFound
from mcpist.people.change import MAX_TRANSACTION_ITEMS, Change
from mcpist.people.organization import MAX_ROLES_PER_USER, Organization, User

ISSUER = "https://login.example.com"
ADA = User("ada", "Ada", Subject(ISSUER, "1"), "admin", ("b", "a"))
UMA = User("uma", "Uma", Subject(ISSUER, "2"), roles=("a",), locale="ja")
ACME = Organization(
    "acme", "Acme", ("x.*",), {name: Role(name) for name in "abc"}, {user.id: user for user in (ADA, UMA)}
)


def test_an_organization_can_be_read_back_from_its_items() -> None:
    assert Organization.from_items("acme", [ACME.head_item(1), *ACME.items()]) == ACME
    assert Organization.from_items("acme", []) is None


def test_an_organization_lists_its_administrators_and_the_users_of_a_role() -> None:
    assert ACME.administrators == ("ada",)
    assert (ACME.users_with_role("a"), ACME.users_with_role("b"), ACME.users_with_role("c")) == (
        ("ada", "uma"),
        ("ada",),
        (),
    )


def test_an_unknown_role_or_user_is_refused_with_the_known_ones() -> None:
    with pytest.raises(RoleNotFound, match='There is no role "d"') as unknown:
        ACME.role("d")
    assert unknown.value.text().hint == "Roles: a, b, c."
    with pytest.raises(UserNotFound, match='There is no user "eve"') as stranger:
        ACME.without_user("eve")
    assert stranger.value.text().hint == "Users: ada, uma."
    with pytest.raises(RoleNotFound):
        ACME.without_role("d")
    with pytest.raises(RoleInUse, match='These users have the role "a": ada, uma'):
        ACME.without_role("a")
    assert list(ACME.without_role("c").roles) == ["a", "b"]


def test_an_error_names_a_few_of_many_users() -> None:
    users = {f"user{number}": replace(UMA, id=f"user{number}") for number in range(1000)}
    large = replace(ACME, users=users)
    with pytest.raises(UserNotFound) as unknown:
        large.user("user7x")
    assert unknown.value.text().hint.startswith("Users: user7, ")
    assert unknown.value.text().hint.endswith(" and 995 more.")
    with pytest.raises(RoleInUse, match="user0, user1, user2, user3, user4 and 995 more"):
        large.without_role("a")


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
def test_a_broken_invariant_is_refused_with_the_path_of_the_field(wrong: Organization, field: str) -> None:
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
    (part,) = Change(before, replace(before, users={"ada": moved})).transactions(is_new=False)
    assert (len(part.puts), len(part.deletes), len(part.differences)) == (2, 1, 1)
    with pytest.raises(InvalidRequest, match="at most 40 roles"):
        replace(before, users={"ada": replace(ADA, roles=tuple(names))}).validated()


def test_a_large_change_keeps_the_invariants_wherever_it_is_interrupted() -> None:
    roles = {name: Role(name) for name in (f"r{number:03}" for number in range(150))}
    users = {
        name: User(name, name, Subject(ISSUER, name), "user", ("r007", "r000"))
        for name in (f"u{number:03}" for number in range(60))
    }
    before = Organization("acme", "Acme", roles=roles, users={**users, "zoe": replace(ADA, id="zoe", roles=())})
    heir = replace(users["u050"], system_role="admin", roles=("new",))
    remaining = {"u001": replace(users["u001"], roles=("new",)), "u050": heir}
    after = Organization("acme", "Acme", roles={"new": Role("new")}, users=remaining)
    items = {(item["pk"], item["sk"]): item for item in (*before.items(), *before.access_items())}
    parts = list(Change(before, after).transactions(is_new=False))
    for part in parts:
        assert part.size <= MAX_TRANSACTION_ITEMS
        items |= {(item["pk"], item["sk"]): item for item in part.puts}
        for item in part.deletes:
            del items[item["pk"], item["sk"]]
        own = [item for (pk, _), item in items.items() if pk == "org#acme"]
        partly = Organization.from_items("acme", [after.head_item(1), *own])
        assert partly
        assert partly.validated().administrators
        assert {item["user"] for (pk, _), item in items.items() if pk != "org#acme"} == set(partly.users)
    assert partly == after
    assert len(parts) > 3


def test_a_change_affects_the_users_whose_access_differs_and_an_empty_change_all_users() -> None:
    def affected_users(after: Organization) -> set[str]:
        return Change(ACME, after).affected_users()

    assert affected_users(ACME.with_role(Role("b", modules=("rag",)))) == {"ada"}
    assert affected_users(ACME.with_role(Role("d"))) == set()
    assert affected_users(replace(ACME, disabled=())) == {"ada", "uma"}
    assert affected_users(ACME.with_user(replace(UMA, locale="en"))) == {"uma"}
    assert affected_users(ACME.without_user("uma")) == set()
    assert affected_users(ACME) == {"ada", "uma"}
