"""The janitor publishes what a change left whose process was killed in the middle of its publication."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from infra.local.login import LocalLogin
from janitor.handler import MIN_AGE_SECONDS, finish_publications
from mcpist.aws.clients import client
from mcpist.aws.table import directory_table
from mcpist.caller import Role, Subject
from mcpist.people import directory
from mcpist.people.organization import User
from tests import members

USERS = [f"user{number}" for number in range(60)]


class Killed(BaseException):
    """The end of a process."""


@pytest.fixture
def half_published(aws: list[str], organization: str, login: LocalLogin) -> list[str]:
    """A role of 60 users that got another module, which is not published to the half of them; the operations sent."""
    crowd = {name: User(name, name, Subject(login.issuer, name), roles=("members",)) for name in USERS}
    directory.change(organization, lambda acme: replace(acme, users={**acme.users, **crowd}))
    with killed_at(login, USERS[::2]), pytest.raises(Killed):
        members.put_role(organization, Role("members", modules=("rag",)))
    assert [modules_of(login, user) == ["rag"] for user in USERS[::2]] == [False] * 30
    aws.clear()
    return aws


@contextmanager
def killed_at(login: LocalLogin, users: list[str]) -> Iterator[None]:
    """Kill this process where it publishes to any of these users."""

    def kill(params: dict[str, bytes], **_: object) -> None:
        if any(f'"subject#{login.issuer}#{user}"'.encode() in params["body"] for user in users):
            raise Killed

    events = client("dynamodb").meta.events
    events.register("before-call.dynamodb.PutItem", kill)
    try:
        yield
    finally:
        events.unregister("before-call.dynamodb.PutItem", kill)


def modules_of(login: LocalLogin, user: str) -> list[str]:
    (access,) = directory_table().query(f"subject#{login.issuer}#{user}")
    (role,) = access["roles"]
    modules: list[str] = role["modules"]
    return modules


def later() -> float:
    return time.time() + MIN_AGE_SECONDS + 1


@pytest.mark.usefixtures("half_published")
def test_an_interrupted_publication_is_finished_once(aws: list[str], login: LocalLogin) -> None:
    assert finish_publications(later) == {"finished_publications": 1}
    assert {tuple(modules_of(login, user)) for user in USERS} == {("rag",)}
    aws.clear()
    assert finish_publications(later) == {"finished_publications": 0}
    assert aws == ["Query"]


def test_a_publication_that_may_still_be_going_on_is_left_alone(half_published: list[str]) -> None:
    assert finish_publications() == {"finished_publications": 0}
    assert half_published == ["Query"]
