from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.upstreams.configured import Upstreams, configured
from tests.upstreams.connected import public_url
from tests.upstreams.fake_upstream import FakeUpstream, serving_fake


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The settings of the embedded stack, whose upstreams may stand on loopback."""
    with public_url(monkeypatch, "http://127.0.0.1:1"):
        yield


@pytest.fixture
def fake() -> Iterator[FakeUpstream]:
    """A server over HTTP that answers as a test wants."""
    with serving_fake() as fake:
        yield fake


@pytest.fixture
def upstreams(aws: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstreams]:  # noqa: ARG001
    """A process with upstreams, none of them configured yet."""
    with configured(tmp_path, monkeypatch) as upstreams:
        yield upstreams
