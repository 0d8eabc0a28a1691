"""A service on loopback that takes AWS's place."""

from collections.abc import Iterator

import pytest

from tests.core.aws.service import Service, serving


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def url(service: Service) -> Iterator[str]:
    with serving(service) as url:
        yield url
