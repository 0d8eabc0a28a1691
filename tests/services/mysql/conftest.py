from collections.abc import Iterator

import pytest

from tests.services.mysql.server import AVAILABLE, MySqlServer, running_server


@pytest.fixture(scope="session")
def server() -> Iterator[MySqlServer]:
    """A real server, whose tables the tests leave as they found them."""
    if not AVAILABLE:
        pytest.skip("MariaDB is not installed (Debian: apt install mariadb-server)")
    with running_server() as found:
        yield found
