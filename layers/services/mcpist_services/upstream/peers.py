"""The servers behind a category, called on behalf of one caller: its tools, resources and prompts."""

import logging
import time
from collections.abc import Callable, Mapping

import mcp_types
from pydantic import BaseModel

from mcpist.aws.clients import AwsError, ResourceMissing, client, store_errors
from mcpist.caller import Caller
from mcpist.errors import (
    AccountsOfAnother,
    FileNotFound,
    McpistError,
    ReconnectRequired,
    ToolExecutionError,
    UpstreamCallError,
    UpstreamSecretMissing,
    UpstreamUnavailable,
)
from mcpist.memory import Memory
from mcpist.render.contents import json_of_result, text_of
from mcpist.running import broker
from mcpist.running.refusals import MAX_MESSAGE_CHARACTERS
from mcpist.settings import settings
from mcpist.tools.declare.call import ProxiedCall, ProxiedResponse
from mcpist_services.upstream import lists
from mcpist_services.upstream.connections import Identity, upstreams
from mcpist_services.upstream.lists import EVERYBODY, ListOwner
from mcpist_services.upstream.registered import label, server_of
from mcpist_services.upstream.requests import ItemRequest, call_tool, get_prompt, read_resource

UNAUTHORIZED = 401
LOGGED_METHODS = {"read": "resources/read", "prompt": "prompts/get"}  # of a call the tool is logged
logger = logging.getLogger(__name__)
PARAMETER_TTL_SECONDS = 300.0
MAX_CACHED_PARAMETERS = 1_000
parameter_cache: Memory[str, str] = Memory(PARAMETER_TTL_SECONDS, MAX_CACHED_PARAMETERS)


class CategoryPeers:
    """The servers of one category; `resources` and `prompts` map our names to the servers that offer them."""

    def __init__(self, category: str, resources: Mapping[str, str], prompts: Mapping[str, str]) -> None:
        self._category = category
        self._resources = resources
        self._prompts = prompts

    def call(self, caller: Caller, work: ProxiedCall, *, deadline: float, reads: bool) -> ProxiedResponse:
        """Run a tool; raises UpstreamCallError with the result if the tool reports an error."""
        answer = self._send(caller, work.server, call_tool(work.tool, work.arguments, reads=reads), deadline)
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
        answer = self._send(caller, server, read_resource(own), deadline)
        prefix = uri.removesuffix(own)
        contents = [one.model_copy(update={"uri": f"{prefix}{one.uri}"}) for one in answer.contents]
        return answer.model_copy(update={"contents": contents})

    def get_prompt(
        self, caller: Caller, prompt: str, arguments: Mapping[str, str], *, deadline: float
    ) -> mcp_types.GetPromptResult:
        """Return a prompt's messages."""
        return self._send(caller, self._prompts[prompt], get_prompt(prompt, arguments), deadline)

    def _locate(self, uri: str) -> tuple[str, str]:
        """Return the server of one of our addresses, and the server's own address."""
        for server, prefix in self._resources.items():
            if uri.startswith(prefix):
                return server, uri.removeprefix(prefix)
        raise FileNotFound(path=uri)

    def _send[Result: BaseModel](
        self, caller: Caller, server: str, request: ItemRequest[Result], deadline: float
    ) -> Result:
        """Send a request and log it; a refused account is resolved again once."""
        started, outcome, silence = time.monotonic(), "succeeded", None
        try:
            return _with_fresh_credentials(
                caller, server, lambda identity: upstreams().send(server, identity, request, deadline=deadline)
            )
        except McpistError as error:
            outcome = error.code
            silence = error if isinstance(error, UpstreamUnavailable) else None
            raise
        finally:
            milliseconds = round((time.monotonic() - started) * 1000)
            what = LOGGED_METHODS.get(request.method, request.name)
            fields = {"category": self._category, "server": label(server), "tool": what}
            logger.info("upstream asked", extra={**fields, "outcome": outcome, "milliseconds": milliseconds})
            lists.note_answer(server, owner(caller, server), silence)


def _with_fresh_credentials[T](caller: Caller, server: str, ask: Callable[[Identity], T]) -> T:
    identity = identity_for(caller, server)
    try:
        return ask(identity)
    # The token in memory may have been refreshed or replaced by another sandbox meanwhile.
    except ToolExecutionError as error:
        if error.details.get("http_status") != UNAUTHORIZED or not server_of(server).references:
            raise
    try:
        return ask(identity_for(caller, server, refused=identity))
    except ToolExecutionError as error:
        grants = sorted(server_of(server).grants)
        if error.details.get("http_status") != UNAUTHORIZED or not grants:
            raise
        url = settings().connect_url(grants[0])
        raise ReconnectRequired(service=grants[0], url=url, problem=error.details["problem"]) from None


def owner(caller: Caller, server: str) -> ListOwner:
    """Return the owner of a server's list of tools: the caller if it is asked with the caller's account."""
    return (caller.organization, caller.user) if server_of(server).grants else EVERYBODY


def identity_for(caller: Caller, server: str, *, refused: Identity | None = None) -> Identity:
    """Return the identity that a server is called as; after it `refused` one, its secrets are resolved again.

    It is the caller's own identity if the server uses an account of the caller's, the organization's if it is a child
    process, else the shared one.
    """
    configured = server_of(server)
    stored = sorted(one for one in configured.references if one.startswith("ssm:"))
    secrets = {one: _parameter(one.removeprefix("ssm:"), server, refused is not None) for one in stored}
    owners, versions = [], {}
    # Those of a registered module are for its address alone; a server's own key has its name before the `@`.
    taken = {one.name for one in caller.modules if one.destination} - ({label(server)} if "@" in server else set())
    for service in sorted(configured.grants):
        if service in taken:
            raise AccountsOfAnother(name=label(server), module=service)
        credential = broker.resolve(caller, service, refused=refused.versions.get(service) if refused else None)
        secrets[f"grant:{service}"] = credential.token
        owners.append(f"{credential.owner}#{credential.label}")
        versions[service] = credential.version
    if not owners:
        # A child process keeps what its callers say: each organization has its own.
        organization = caller.organization if configured.type == "stdio" else ""
        return Identity(organization, secrets=secrets)
    return Identity(caller.organization, " ".join([caller.user, *owners]), secrets, versions)


def _parameter(path: str, server: str, fresh: bool) -> str:
    """A stored parameter's value, from memory for some minutes."""
    known = parameter_cache.get(path)
    if known is not None and not fresh:
        return known
    try:
        with store_errors("parameters"):
            answer = client("ssm").get_parameter(Name=path, WithDecryption=True)
    except ResourceMissing as error:
        secret = path.partition("/upstreams/")[2]
        raise UpstreamSecretMissing(service=label(server), parameter=path, secret=secret) from error
    except AwsError as error:
        problem = f"its parameter {path} cannot be read ({error.code})"
        raise UpstreamUnavailable(service=label(server), problem=problem) from error
    return parameter_cache.put(path, str(answer["Parameter"]["Value"]))
