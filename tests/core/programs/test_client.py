"""The doors' client of the program runner: what it does before it sends anything."""

import time

import pytest

from mcpist.errors import DayLimitReached
from mcpist.programs import client
from mcpist.programs.messages import ServerDeclaration, ServerRequest
from mcpist.settings import settings
from mcpist.spending import spending


def test_no_program_runs_beyond_the_seconds_of_the_day(aws: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAY_PROGRAM_SECONDS", "60")
    settings.cache_clear()
    server = ServerDeclaration(name="notes", command="npx", timeout_seconds=5, result_bytes=1_000, concurrency=1)
    request = ServerRequest(organization="acme", server=server, method="list", seconds=5)
    spending.add("acme", "program_seconds", 59.1)
    aws.clear()
    with pytest.raises(DayLimitReached) as refused:
        client.ask(request, deadline=time.monotonic() + 5)
    assert refused.value.details["measure"] == "program_seconds"
    assert "Invoke" not in aws
