"""A module: one service's tools, declared with its decorators."""

from collections.abc import Callable, Mapping
from typing import Any

from mcpist.render.shows import Shows
from mcpist.tools.call import Work
from mcpist.tools.tool import Effect, Tool

type Function = Callable[..., Work]


class Module:
    """A service: where it is, how it is spoken to, and what it offers.

    `host` is the fixed origin that its Calls and its tokens go to; `opens` gives the store of an organization
    to its Lookups. A module with a host needs a grant of the service of its own name.
    """

    def __init__(
        self,
        name: str,
        doc: str | None,
        *,
        api_version: str,
        host: str = "",
        headers: Mapping[str, str] | None = None,
        opens: Callable[[str], Any] | None = None,
    ) -> None:
        self.name = name
        self.description = (doc or "").strip().partition("\n")[0]
        self.api_version = api_version
        self.host = host
        self.headers = dict(headers or {})
        self.opens = opens
        self.tools: dict[str, Tool] = {}

    @property
    def service(self) -> str | None:
        """The service whose grant its tools need."""
        return self.name if self.host else None

    def reads(self, shows: Shows, *, reveals: bool = False) -> Callable[[Function], Function]:
        """Declare a tool that changes nothing; `reveals` marks one that shows secrets."""
        return self._declare("reads", shows, idempotent=True, reveals=reveals)

    def writes(self, shows: Shows, *, idempotent: bool = False) -> Callable[[Function], Function]:
        """Declare a tool that creates or updates."""
        return self._declare("writes", shows, idempotent=idempotent)

    def destroys(self, shows: Shows, *, idempotent: bool = False) -> Callable[[Function], Function]:
        """Declare a tool that removes something or cannot be undone."""
        return self._declare("destroys", shows, idempotent=idempotent)

    def _declare(
        self, effect: Effect, shows: Shows, *, idempotent: bool, reveals: bool = False
    ) -> Callable[[Function], Function]:
        def declare(function: Function) -> Function:
            tool = Tool(self.name, function, effect, shows, idempotent, reveals)
            if tool.name in self.tools:
                raise ValueError(f"{self.name}.{tool.name} is declared twice")
            self.tools[tool.name] = tool
            return function

        return declare
