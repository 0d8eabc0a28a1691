"""The servers behind a category: its tools, resources and prompts, used with the caller's own identity."""

import logging
import time
from collections.abc import Callable, Mapping

import mcp_types

from mcpist.caller import Caller
from mcpist.errors import FileNotFound, McpistError, ReconnectRequired, ToolExecutionError, UpstreamCallError
from mcpist.render.contents import json_of_result, text_of
from mcpist.running.error_messages import MAX_MESSAGE_CHARACTERS
from mcpist.settings import settings
from mcpist.tools.call import ProxiedCall, ProxiedResponse
from mcpist_services.upstream.connections import Identity, upstreams
from mcpist_services.upstream.identities import identity_for
from mcpist_services.upstream.registered import label, server_of

UNAUTHORIZED = 401

logger = logging.getLogger(__name__)


class CategoryPeers:
    """The servers of one category; `resources` and `prompts` map our names to the servers that offer them."""

    def __init__(self, category: str, resources: Mapping[str, str], prompts: Mapping[str, str]) -> None:
        self._category = category
        self._resources = resources
        self._prompts = prompts

    def call(self, caller: Caller, work: ProxiedCall, *, deadline: float, reads: bool) -> ProxiedResponse:
        """Run a tool; raises UpstreamCallError with the result if the tool reports an error."""

        def ask(identity: Identity) -> mcp_types.CallToolResult:
            return upstreams().call(work.server, identity, work.tool, work.arguments, deadline=deadline, reads=reads)

        answer = self._logged(caller, work.server, work.tool, ask)
        result = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        if answer.is_error:
            problem = text_of(result)[:MAX_MESSAGE_CHARACTERS] or "no readable message"
            error = UpstreamCallError(service=label(work.server), problem=problem)
            error.result = result
            raise error
        return ProxiedResponse(json_of_result(result), result)

    def read(self, caller: Caller, uri: str, *, deadline: float) -> mcp_types.ReadResourceResult:
        """Read a resource by our address."""
        server, own = self._locate(uri)
        answer = self._logged(
            caller,
            server,
            "resources/read",
            lambda identity: upstreams().read_resource(server, identity, own, deadline=deadline),
        )
        prefix = uri.removesuffix(own)
        contents = [one.model_copy(update={"uri": f"{prefix}{one.uri}"}) for one in answer.contents]
        return answer.model_copy(update={"contents": contents})

    def get_prompt(
        self, caller: Caller, prompt: str, arguments: Mapping[str, str], *, deadline: float
    ) -> mcp_types.GetPromptResult:
        """Return a prompt's messages."""
        server = self._prompts[prompt]
        return self._logged(
            caller,
            server,
            "prompts/get",
            lambda identity: upstreams().get_prompt(server, identity, prompt, arguments, deadline=deadline),
        )

    def _locate(self, uri: str) -> tuple[str, str]:
        """Return the server of one of our addresses, and the server's own address."""
        for server, prefix in self._resources.items():
            if uri.startswith(prefix):
                return server, uri.removeprefix(prefix)
        raise FileNotFound(path=uri)

    def _logged[T](self, caller: Caller, server: str, what: str, ask: Callable[[Identity], T]) -> T:
        """Call a server and log it; a refused account is resolved again once."""
        started, outcome = time.monotonic(), "succeeded"
        try:
            return self._with_fresh_credentials(caller, server, ask)
        except McpistError as error:
            outcome = error.code
            raise
        finally:
            milliseconds = round((time.monotonic() - started) * 1000)
            fields = {"category": self._category, "server": label(server), "tool": what}
            logger.info("upstream asked", extra={**fields, "outcome": outcome, "milliseconds": milliseconds})

    def _with_fresh_credentials[T](self, caller: Caller, server: str, ask: Callable[[Identity], T]) -> T:
        identity = identity_for(caller, server)
        try:
            return ask(identity.identity)
        except ToolExecutionError as error:
            if error.details.get("http_status") != UNAUTHORIZED or not server_of(server).references:
                raise
        try:
            return ask(identity_for(caller, server, refused=identity).identity)
        except ToolExecutionError as error:
            grants = sorted(server_of(server).grants)
            if error.details.get("http_status") != UNAUTHORIZED or not grants:
                raise
            url = settings().connect_url(grants[0])
            raise ReconnectRequired(service=grants[0], url=url, problem=error.details["problem"]) from None
