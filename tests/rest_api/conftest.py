import pytest

from infra.local.login import LocalLogin
from tests.rest_api.rest_client import RestClient


@pytest.fixture
def rest(organization: str, login: LocalLogin) -> RestClient:  # noqa: ARG001 - the door needs its members
    return RestClient(login)
