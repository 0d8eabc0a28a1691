"""Audit rows about requests that a limit of ours refused, few enough that refusals cannot fill the table."""

from collections.abc import Iterator
from contextlib import contextmanager

from mcpist.audit import record as audit
from mcpist.caller import Caller
from mcpist.errors import RateLimitExceeded, TooManyInFlight, UserLimitReached
from mcpist.memory import Clock, Memory, wall_clock

ROW_SECONDS = 60
MAX_USERS = 1_000
# The module of a row's tool, and the tool by the limit.
LIMITS = "limits"
_TOOLS: dict[type[RateLimitExceeded], str] = {UserLimitReached: "requests", TooManyInFlight: "in_flight"}


class RefusedRequests:
    """The refusals of one sandbox: each user and limit has a row a minute."""

    def __init__(self, clock: Clock = wall_clock) -> None:
        self._recorded: Memory[tuple[str, str, str], bool] = Memory(ROW_SECONDS, MAX_USERS, clock)

    @contextmanager
    def audited(self, caller: Caller, request: str) -> Iterator[None]:
        """Write a row for a request that is refused in this context, unless the user has one of this minute."""
        try:
            yield
        except tuple(_TOOLS) as error:
            tool = _TOOLS[type(error)]
            key = (caller.organization, caller.user, tool)
            if not self._recorded.get(key):
                self._recorded.put(key, True)
                with audit.best_effort():
                    audit.record_use(caller, module=LIMITS, tool=tool, outcome=error.code, request=request)
            raise


refused_requests = RefusedRequests()
