"""A database is used as its tools use it."""

import time
from typing import Any

import pytest

from mcpist.errors import McpistError
from mcpist_services.sql.database import Database

SECONDS = 20.0


def read(database: Database, sql: str, *parameters: Any, limit: int = 100, seconds: float = SECONDS) -> Any:
    return database.read(sql, parameters, limit=limit, deadline=time.monotonic() + seconds)


def write(database: Database, sql: str, *parameters: Any) -> dict[str, Any]:
    return database.write(sql, parameters, deadline=time.monotonic() + SECONDS)


def refused(kind: type[McpistError], action: Any, *arguments: Any, **more: Any) -> str:
    with pytest.raises(kind) as caught:
        action(*arguments, **more)
    return str(caught.value.details.get("problem"))
