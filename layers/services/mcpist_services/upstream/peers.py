"""The servers behind a category: its tools, resources and prompts as a caller's own identity uses them."""

import logging
import time
from collections.abc import Callable, Mapping

import mcp_types

from mcpist.caller import Caller
from mcpist.errors import FileNotFound, McpistError, ReconnectRequired, ToolExecutionError, UpstreamCallError
from mcpist.render.contents import joined, text_of
from mcpist.running.messages import MESSAGE_CHARACTERS
from mcpist.settings import settings
from mcpist.tools.call import Proxied, Reply
from mcpist_services.upstream.configuration import configuration
from mcpist_services.upstream.connections import Identity, upstreams
from mcpist_services.upstream.identities import acting

UNAUTHORIZED = 401

logger = logging.getLogger(__name__)


class CategoryPeers:
    """The servers of one category; `resources` and `prompts` say which of them offers what, by the names here."""

    def __init__(self, category: str, resources: Mapping[str, str], prompts: Mapping[str, str]) -> None:
        self._category = category
        self._resources = resources
        self._prompts = prompts

    def call(self, caller: Caller, work: Proxied, *, until: float, reads: bool) -> Reply:
        """The answer of a tool, or UpstreamCallError with it where the tool says that it failed."""

        def ask(who: Identity) -> mcp_types.CallToolResult:
            return upstreams().call(work.server, who, work.tool, work.arguments, until=until, reads=reads)

        answer = self._asked(caller, work.server, work.tool, ask)
        result = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        if answer.is_error:
            problem = text_of(result)[:MESSAGE_CHARACTERS] or "no readable message"
            error = UpstreamCallError(service=work.server, problem=problem)
            error.result = result
            raise error
        return Reply(joined(result), result)

    def read(self, caller: Caller, uri: str, *, until: float) -> mcp_types.ReadResourceResult:
        """What a resource holds, under its address here."""
        server, own = self._place(uri)
        answer = self._asked(
            caller, server, "resources/read", lambda who: upstreams().read_resource(server, who, own, until=until)
        )
        prefix = uri.removesuffix(own)
        contents = [one.model_copy(update={"uri": f"{prefix}{one.uri}"}) for one in answer.contents]
        return answer.model_copy(update={"contents": contents})

    def say(
        self, caller: Caller, prompt: str, arguments: Mapping[str, str], *, until: float
    ) -> mcp_types.GetPromptResult:
        """What a prompt says to the model."""
        server = self._prompts[prompt]
        return self._asked(
            caller,
            server,
            "prompts/get",
            lambda who: upstreams().get_prompt(server, who, prompt, arguments, until=until),
        )

    def _place(self, uri: str) -> tuple[str, str]:
        """The server of an address here, and the server's own address."""
        for server, prefix in self._resources.items():
            if uri.startswith(prefix):
                return server, uri.removeprefix(prefix)
        raise FileNotFound(path=uri)

    def _asked[T](self, caller: Caller, server: str, what: str, ask: Callable[[Identity], T]) -> T:
        """What a server answers to the caller, whose account is asked for afresh once if the server refuses it."""
        begun, outcome = time.monotonic(), "succeeded"
        try:
            return self._as_caller(caller, server, ask)
        except McpistError as error:
            outcome = error.code
            raise
        finally:
            milliseconds = round((time.monotonic() - begun) * 1000)
            fields = {"category": self._category, "server": server, "tool": what}
            logger.info("upstream asked", extra={**fields, "outcome": outcome, "milliseconds": milliseconds})

    def _as_caller[T](self, caller: Caller, server: str, ask: Callable[[Identity], T]) -> T:
        who = acting(caller, server)
        try:
            return ask(who.identity)
        except ToolExecutionError as error:
            if error.details.get("http_status") != UNAUTHORIZED or not configuration().servers[server].references:
                raise
        try:
            return ask(acting(caller, server, refused=who).identity)
        except ToolExecutionError as error:
            grants = sorted(configuration().servers[server].grants)
            if error.details.get("http_status") != UNAUTHORIZED or not grants:
                raise
            url = settings().connect_url(grants[0])
            raise ReconnectRequired(service=grants[0], url=url, problem=error.details["problem"]) from None
