"""Reads the servers of an MCP client's configuration into our format, without any secret."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import ValidationError

from infra.cli.deployable import READABLE_PARAMETERS
from infra.cli.document import CommandError
from mcpist_services.definitions import is_forbidden_header, is_own_name, parse_commented_json
from mcpist_services.upstream.configuration import UpstreamServer
from mcpist_services.upstream.secret_detection import is_secret, secret_arguments

# Placeholders for values that a client asks for or looks up: ${TOKEN}, ${env:TOKEN}, ${input:token}.
_PLACEHOLDER = re.compile(r"\$\{[^}]+\}|\$[A-Z_][A-Z0-9_]*")
_TYPES = {"http": "http", "streamable-http": "http", "streamablehttp": "http", "streamable_http": "http", "sse": "sse"}
_MCP_REMOTE = re.compile(r"^mcp-remote(@.*)?$")
_OPTION = re.compile(r"^--?([\w.-]+)(=.*)?$", re.DOTALL)


@dataclass
class ClientServer:
    """One server in our format, its secrets, and notes about what a person has to do."""

    name: str
    parameters: str
    server: dict[str, Any] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    notes: list[str] = field(default_factory=list)


def read_client_config(path: Path, stack: str) -> list[ClientServer]:
    """Read the servers of a client's configuration and of its projects, except disabled ones."""
    try:
        written = parse_commented_json(path.expanduser().read_text("utf-8"))
    except (OSError, ValueError) as error:
        hint = "Name an MCP client's configuration, e.g. ~/.claude.json or .mcp.json."
        raise CommandError("FILE_NOT_FOUND", f"{path}: {getattr(error, 'strerror', None) or error}", hint) from None
    found: dict[str, ClientServer] = {}
    written_as: dict[str, list[Any]] = {}
    for name, server in _servers(written):
        # Clients repeat a server in each project; one with other contents is another server.
        if server in written_as.setdefault(name, []) or server.get("disabled") is True:
            continue
        written_as[name].append(server)
        one = _translate(_unique_name(name, found), stack, server)
        found[one.name] = one
    if not any(one.server for one in found.values()):
        message = f"{path} names no MCP server that can be imported"
        hint = "The file must have mcpServers, servers, or projects with mcpServers."
        details = {name: one.notes for name, one in found.items()}
        raise CommandError("VALIDATION_ERROR", message, hint, details)
    return list(found.values())


def _servers(written: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the servers of a client's file, under each of the keys that clients use."""
    if not isinstance(written, dict):
        return
    projects = written.get("projects")
    for part in (written, written.get("mcp"), *(projects.values() if isinstance(projects, dict) else ())):
        if not isinstance(part, dict):
            continue
        for key in ("mcpServers", "servers", "context_servers"):
            if isinstance(servers := part.get(key), dict):
                yield from ((name, server) for name, server in servers.items() if isinstance(server, dict))


def _unique_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return a name of allowed characters that is not taken."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:50] or "server"
    plain = f"{plain}-mcp" if is_own_name(plain) else plain
    others = (f"{plain}-{number}" for number in range(2, len(taken) + 3))
    return next(one for one in (plain, *others) if one not in taken)


def _translate(name: str, stack: str, written: Mapping[str, Any]) -> ClientServer:
    found = ClientServer(
        name, f"{READABLE_PARAMETERS.format(stack=stack)}/{name}", {"description": f"The tools of {name}."}
    )
    url = str(written.get("url") or written.get("serverUrl") or written.get("httpUrl") or "")
    args = [str(argument) for argument in written.get("args") or ()]
    headers = {str(key): str(value) for key, value in (written.get("headers") or {}).items()}
    if not url and (remote := next((at for at, one in enumerate(args) if _MCP_REMOTE.match(one)), None)) is not None:
        url, headers = _unwrap_mcp_remote(args[remote + 1 :], found)
    if url:
        default = "sse" if urlsplit(url).path.rstrip("/").endswith("/sse") else "http"
        found.server |= {
            "type": _TYPES.get(str(written.get("type", "")).lower(), default),
            "url": _url_without_secrets(url, found),
        }
        dropped = [key for key in headers if is_forbidden_header(key, holds_key=True)]
        found.notes += [f"its header {key} was left out: MCPist sets its own" for key in dropped]
        _add_values(found, "headers", {key: value for key, value in headers.items() if key not in dropped})
    else:
        found.server["command"] = str(written.get("command") or "")
        variables = {str(key): str(value) for key, value in (written.get("env") or {}).items()}
        args = _without_secrets(args, variables, found)
        found.server |= {"args": args} if args else {}
        _add_values(found, "env", variables)
        if written.get("envFile"):
            found.notes.append(f"its variables in {written['envFile']} were not read: name them in env")
        if written.get("cwd"):
            found.notes.append("it was started in another folder: write files with absolute paths")
    return _validate(found)


def _unwrap_mcp_remote(args: list[str], found: ClientServer) -> tuple[str, dict[str, str]]:
    """Return the URL and the headers in the arguments of the bridge mcp-remote, which we do not need."""
    headers = {}
    for option, value in pairwise(args):
        if option == "--header":
            key, _, said = value.partition(":")
            headers[key.strip()] = said.strip()
    found.notes.append("mcp-remote is not needed and was removed; if the server needs a login, use grant:service")
    return next((one for one in args if "://" in one), ""), headers


def _add_values(found: ClientServer, where: str, values: Mapping[str, str]) -> None:
    """Add values to the server, with references for secrets and placeholders."""
    for key, value in values.items():
        if is_secret(key, value) or _PLACEHOLDER.search(value):
            reference = f"ssm:{found.parameters}/{re.sub(r'[^A-Za-z0-9_.-]', '-', key)}"
            found.server.setdefault(where, {})[key] = reference
            if not _PLACEHOLDER.search(value):
                found.secrets[reference] = value
            whole = ", the complete value with its first word" if " " in value else ""
            name = reference.removeprefix(f"ssm:{found.parameters.rpartition('/')[0]}/")
            path = reference.removeprefix("ssm:")
            found.notes.append(f"store the value of {key} as {path}{whole}: mcpist upstream secret set {name}")
        else:
            found.server.setdefault(where, {})[key] = value


def _without_secrets(args: list[str], variables: dict[str, str], found: ClientServer) -> list[str]:
    """Return the arguments without secrets; an option's secret becomes a variable with the option's name."""
    secret = set(secret_arguments(args)) | {at for at, one in enumerate(args) if _PLACEHOLDER.search(one)}
    dropped = set(secret)
    for at in secret:
        option = _OPTION.match(args[at]) or (_OPTION.match(args[at - 1]) if at else None)
        if option is None:
            found.notes.append(f"argument {at + 1} held a secret and was left out")
            continue
        if not args[at].startswith("-"):
            dropped.add(at - 1)
        variable = re.sub(r"[^A-Z0-9]", "_", option[1].upper())
        variables.setdefault(variable, args[at].partition("=")[2] if args[at].startswith("-") else args[at])
        found.notes.append(
            f"the option {option[1]} held a secret and became the variable {variable}: check that the server reads it"
        )
    return [one for at, one in enumerate(args) if at not in dropped]


def _url_without_secrets(url: str, found: ClientServer) -> str:
    """Return a URL without its secrets."""
    parts = urlsplit(url)
    kept = [(key, value) for key, value in parse_qsl(parts.query) if not is_secret(key, value)]
    address = parts.netloc.rpartition("@")[2]
    if address != parts.netloc or len(kept) < len(parse_qsl(parts.query)):
        found.notes.append("its URL held a secret, which was left out: give it in a header, as ssm:/path")
    if _PLACEHOLDER.search(url):
        found.notes.append("its URL has a placeholder of the client: write its value")
    return urlunsplit(parts._replace(netloc=address, query=urlencode(kept)))


def _validate(found: ClientServer) -> ClientServer:
    """Return the server if it is valid in our format, or else only a note with the reason and none of its values."""
    try:
        UpstreamServer.model_validate(found.server)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]["msg"]
        return ClientServer(found.name, found.parameters, notes=[f"it was not imported: {problem}"])
    return found
