"""The turns of the HTTP API's clients."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from os import sched_yield
from threading import Event, Semaphore

import pytest

from infra.local.fair_queue import (
    MAX_AT_ONCE,
    MAX_AT_ONCE_OF_ORGANIZATION,
    MAX_KNOWN_SENDERS,
    UNKNOWN,
    ApiTurns,
    FairQueue,
    TooLate,
)

GREEDY, MODEST = b"greedy", b"modest"


class Requests:
    """Requests that are served until they may end."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self.queue = FairQueue()
        self.pool = pool
        self.started = Semaphore(0)
        self.end = Event()

    def send(self, client: bytes, count: int = 1, seconds: float = 60) -> list[Future[None]]:
        return [self.pool.submit(self._serve, client, seconds) for _ in range(count)]

    def _serve(self, client: bytes, seconds: float) -> None:
        with self.queue.turn(client, seconds):
            self.started.release()
            self.end.wait(60)


@pytest.fixture
def requests() -> Iterator[Requests]:
    with ThreadPoolExecutor(60) as pool:
        requests = Requests(pool)
        yield requests
        requests.end.set()


def wait_for(requests: Requests, count: int) -> None:
    assert all(requests.started.acquire(timeout=10) for _ in range(count))


def test_a_client_with_many_requests_has_few_served_at_once_and_nobody_waits_for_it(requests: Requests) -> None:
    greedy = requests.send(GREEDY, 20)
    wait_for(requests, MAX_AT_ONCE)
    requests.send(MODEST)
    wait_for(requests, 1)
    assert not requests.started.acquire(blocking=False)
    requests.end.set()
    wait_for(requests, 20 - MAX_AT_ONCE)
    assert [one.result(10) for one in greedy] == [None] * 20


def test_a_clients_part_is_smaller_while_there_is_another_one(requests: Requests) -> None:
    requests.queue = FairQueue(at_once=8, shared=8, spacing_seconds=0)
    with requests.queue.turn(MODEST, 60):
        requests.send(GREEDY, 20)
        wait_for(requests, 4)
        while len(requests.queue._clients[GREEDY].waiting) < 16:
            sched_yield()
        assert requests.queue._clients[GREEDY].running == 4
    wait_for(requests, 4)
    assert requests.queue._clients[GREEDY].running == 8


def test_a_client_of_which_too_many_requests_wait_is_refused_at_once(requests: Requests) -> None:
    requests.queue.max_waiting = 1
    requests.send(GREEDY, MAX_AT_ONCE)
    wait_for(requests, MAX_AT_ONCE)
    (first,) = requests.send(GREEDY)
    while not requests.queue._clients[GREEDY].waiting:
        sched_yield()
    (refused,) = requests.send(GREEDY)
    with pytest.raises(TooLate):
        refused.result(10)
    requests.end.set()
    assert first.result(10) is None


def test_a_request_whose_turn_does_not_come_is_too_late_and_takes_no_turn(requests: Requests) -> None:
    requests.send(GREEDY, MAX_AT_ONCE)
    wait_for(requests, MAX_AT_ONCE)
    (late,) = requests.send(GREEDY, seconds=0.01)
    with pytest.raises(TooLate):
        late.result(10)
    requests.end.set()
    assert [one.result(10) for one in requests.send(GREEDY, 10)] == [None] * 10


def test_a_client_whose_last_request_is_too_late_is_forgotten(requests: Requests) -> None:
    requests.queue.spacing_seconds = 60
    requests.send(GREEDY, MAX_AT_ONCE)
    wait_for(requests, MAX_AT_ONCE)
    (first,) = requests.send(GREEDY)
    while not requests.queue._clients[GREEDY].waiting:
        sched_yield()
    (late,) = requests.send(GREEDY, seconds=1)
    requests.end.set()
    assert first.result(60) is None
    with pytest.raises(TooLate):
        late.result(60)
    assert requests.queue._clients == {}


def test_a_sender_is_a_client_of_its_own_once_a_function_has_accepted_it() -> None:
    turns = ApiTurns(lambda _: "acme")
    turns.note("Bearer refused", 401)
    turns.note("acme.unknown-source", 404)
    turns.note("Bearer accepted", 200)
    turns.note("", 200)
    strangers = ["acme.unknown-source", "Bearer refused", "", "Bearer other"]
    assert {turns.client(one) for one in strangers} == {(UNKNOWN, UNKNOWN)}
    token, organization = turns.client("Bearer accepted")
    assert token != UNKNOWN
    assert organization == b"acme"
    for number in range(MAX_KNOWN_SENDERS):
        turns.note(f"Bearer {number}", 200)
    assert turns.client("Bearer accepted") == (UNKNOWN, UNKNOWN)


def test_many_users_of_one_organization_take_no_more_than_its_part_and_no_other_waits() -> None:
    served, may_end = Semaphore(0), Event()
    turns = ApiTurns(lambda authorization: authorization.split()[1].partition("-")[0])
    turns.organizations.spacing_seconds = turns.senders.spacing_seconds = 0

    def serve(authorization: str) -> None:
        with turns.turn(authorization, 60):
            served.release()
            may_end.wait(60)

    users = [f"Bearer acme-{number}" for number in range(6)]
    for user in (*users, "Bearer globex-1"):
        turns.note(user, 200)
    with ThreadPoolExecutor(60) as pool:
        flood = [pool.submit(serve, user) for user in users for _ in range(6)]
        assert all(served.acquire(timeout=10) for _ in range(MAX_AT_ONCE_OF_ORGANIZATION))
        other = pool.submit(serve, "Bearer globex-1")
        assert served.acquire(timeout=10)
        assert not served.acquire(blocking=False)
        may_end.set()
        assert [one.result(10) for one in (other, *flood)] == [None] * 37
