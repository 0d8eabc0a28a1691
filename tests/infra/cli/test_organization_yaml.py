"""An organization as YAML."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.cli.organizations import parse_organization
from infra.cli.rest_commands import dump
from mcpist.caller import Role, Subject
from mcpist.errors import InvalidRequest
from mcpist.people.change import fields_of
from mcpist.people.organization import Organization, User

SHEET = """\
organization: acme
name: Acme
roles:
  members:
    modules: [rag]
    allow:
users:
  ada.lovelace:
    name: no
    subject: {issuer: https://login.example.com/, sub: 007}
    system_role: admin
    roles: [members]
"""
# Texts with a meaning in YAML, unprintable ones, and words that YAML reads as other types.
ALPHABET = "anoyß山🦊 01.:-_?,!&*%@|>{}[]'\"\\`~\n\t\r\x00\x07\x85\u2028\ufeff"
WORDS = st.sampled_from(
    ["", "no", "on", "null", "~", "007", "1e3", "2026-11-21", "<<", "=", "---", "- a", "a: b", "so  long a " * 20]
)
TEXTS = WORDS | st.text(ALPHABET, max_size=12)
NAMES = TEXTS.filter(bool)
MASKS = st.lists(TEXTS, max_size=3).map(tuple)
ROLES = st.builds(Role, NAMES, MASKS, MASKS, MASKS, st.booleans())
SUBJECTS = st.builds(Subject, st.sampled_from(["https://a.example.com", "http://127.0.0.1:1"]), TEXTS)
USERS = st.builds(
    User, NAMES, TEXTS, SUBJECTS, st.sampled_from(["admin", "user"]), MASKS, st.sampled_from(["en", "ja"])
)
ORGANIZATIONS = st.builds(
    lambda name, text, masks, roles, users: Organization(
        name, text, masks, {role.name: role for role in roles}, {user.id: user for user in users}
    ),
    NAMES,
    TEXTS,
    MASKS,
    st.lists(ROLES, max_size=3),
    st.lists(USERS, max_size=3),
)


@settings(max_examples=60, deadline=None)
@given(ORGANIZATIONS)
def test_an_exported_organization_is_read_unchanged(organization: Organization) -> None:
    text = dump(fields_of(organization))
    again, _ = parse_organization(text)
    assert again == organization
    assert dump(fields_of(again)) == text


def test_every_value_is_read_as_it_is_written() -> None:
    organization, _ = parse_organization(SHEET)
    ada = organization.users["ada.lovelace"]
    assert ada == User("ada.lovelace", "no", Subject("https://login.example.com", "007"), "admin", ("members",))
    assert organization.roles == {"members": Role("members", modules=("rag",))}


@pytest.mark.parametrize(
    ("written", "instead", "line", "problem"),
    [
        ("name: Acme", "name: [Acme]", 2, "name: "),
        ("name: Acme\n", "", 1, "name: Field required"),
        ("    modules: [rag]", "    modules: rag", 5, "roles.members.modules: "),
        ("    modules: [rag]", "    modules: [rag, [jira]]", 5, "roles.members.modules.1: "),
        ("    allow:", "    alow:", 6, "roles.members.alow: Extra inputs"),
        ("    allow:", "    modules:", 6, "modules is there twice"),
        ("  members:\n", "  members:\n    destructive: perhaps\n", 5, "roles.members.destructive: "),
        ("system_role: admin", "system_role: boss", 11, "users.ada.lovelace.system_role: "),
        ("sub: 007}", "sbu: 007}", 10, "users.ada.lovelace.subject.sub: Field required"),
        ("[members]", "[members", 13, "expected ',' or ']'"),
        ("    allow:", "   allow:", 6, "expected <block end>"),
        ("users:", "users: !!python/object/apply:os.system [x]\nothers:", 7, "users: "),
        ("[members]", "&a [*a]", 12, "recursive"),
        ("Acme", "Ac\x07me", 2, "special characters"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(written: str, instead: str, line: int, problem: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_organization(SHEET.replace(written, instead, 1))
    assert problem in refused.value.text().message
    assert refused.value.details["line"] == line


def test_all_errors_of_a_file_are_reported_at_once() -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_organization(SHEET.replace("allow", "alow").replace("admin", "boss"))
    shown = refused.value.as_dict()
    assert shown["details"]["line"] == 6
    assert [problem["details"]["line"] for problem in shown["details"]["problems"]] == [11]


@pytest.mark.parametrize("text", ["", "- acme", "acme", "\x00", "[" * 400])
def test_a_file_without_a_valid_organization_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="file: "):
        parse_organization(text)


def test_a_file_that_is_nested_too_deeply_says_so() -> None:
    with pytest.raises(InvalidRequest, match="file: it is nested too deeply"):
        parse_organization("[" * 3_000)
