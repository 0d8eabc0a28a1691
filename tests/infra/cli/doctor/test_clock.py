"""This machine's clock, compared with a server's."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from email.utils import formatdate

import pytest

from infra.cli.doctor import endpoint
from infra.local.server import LoopbackResponse, LoopbackServer, listen
from tests.infra.cli.doctor.conftest import Made, only


@contextmanager
def telling(date: Callable[[], str]) -> Iterator[str]:
    """A server whose responses have this date."""
    with (
        closing(listen("127.0.0.1", 0)) as listener,
        LoopbackServer(listener, lambda _: LoopbackResponse(403, (("date", date()),))),
    ):
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("ahead", "state", "side"),
    [
        (0, "ok", ""),
        (50, "ok", "behind"),
        (90, "warning", "behind"),
        (-90, "warning", "ahead of"),
        (330, "problem", "behind"),
        (-330, "problem", "ahead of"),
    ],
)
def test_a_clock_that_differs_is_a_warning_and_by_minutes_a_problem(
    made: Made, ahead: int, state: str, side: str
) -> None:
    with telling(lambda: formatdate(time.time() + ahead, usegmt=True)) as url:
        found = only(endpoint.clock(made(url)))
    assert found.state == state
    assert side in found.found
    assert ("timedatectl" in found.remedy) == (state != "ok")


def test_aws_is_asked_without_a_signature_at_its_own_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with telling(lambda: formatdate(0, usegmt=True)) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
        found = only(endpoint.clock_of_aws(None, "eu-west-1"))
    assert (found.state, url in found.found) == ("problem", True)


def test_a_server_without_a_date_is_skipped(made: Made) -> None:
    with telling(lambda: "soon") as url:
        assert only(endpoint.clock(made(url))).state == "skipped"
    assert only(endpoint.clock(made("http://127.0.0.1:1"))).state == "skipped"
