from collections.abc import Iterator

import pytest

from tests.services.postgresql.server import AVAILABLE, PostgreSqlServer, running_server


@pytest.fixture(scope="session")
def server() -> Iterator[PostgreSqlServer]:
    """A real server, whose tables the tests leave as they found them."""
    if not AVAILABLE:
        pytest.skip("PostgreSQL is not installed (Debian: apt install postgresql)")
    with running_server() as found:
        yield found
