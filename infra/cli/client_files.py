"""`mcpist add` and `remove`: this endpoint in the configuration file of an MCP client."""

import json
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from infra.cli.document import CommandError, CommandResult
from infra.cli.endpoint import known_url
from infra.cli.options import Url
from infra.cli.whole_file import write_whole

type ClientName = Literal[
    "claude-code", "claude-desktop", "codex", "cursor", "gemini-cli", "opencode", "vscode", "windsurf", "zed"
]


@dataclass(frozen=True, slots=True)
class ClientFile:
    """The file in which a client keeps its servers, for a person's whole account."""

    path: str
    """Below the home directory."""
    section: str
    """The key that holds the servers by name."""
    entry: Mapping[str, Any]
    """A server's entry, with `{url}` for its MCP URL."""
    login: str = "the client opens the login when it connects: restart it"
    """How the person logs in; `{name}` is the server's name."""
    mac_path: str = ""
    """On macOS, where it differs."""

    @property
    def place(self) -> Path:
        """The file of this person."""
        return Path.home() / (self.mac_path if sys.platform == "darwin" and self.mac_path else self.path)

    def server(self, url: str) -> dict[str, Any]:
        """Return the entry of the server at an MCP URL."""
        filled: dict[str, Any] = json.loads(json.dumps(self.entry).replace("{url}", json.dumps(url)[1:-1]))
        return filled


CLIENT_FILES: Mapping[str, ClientFile] = {
    name: ClientFile(**fields)
    for name, fields in tomllib.loads(Path(__file__).with_name("clients.toml").read_text("utf-8")).items()
}

CLIENT_NAMES = ", ".join(CLIENT_FILES)
Client = Annotated[ClientName, Argument(help=f"One of {CLIENT_NAMES}.", metavar="CLIENT")]
Name = Annotated[str, Option(metavar="NAME", help="The server's name in the client.")]


def add(
    client: Client,
    url: Url = None,
    name: Name = "mcpist",
    readonly: Annotated[bool, Option("--readonly", help="Only reading tools, at /mcp/readonly.")] = False,
    show: Annotated[bool, Option("--print", help="Print what to write, and change nothing.")] = False,
) -> CommandResult:
    """Write this endpoint into a client's configuration; what else is in the file stays."""
    file, server_name = CLIENT_FILES[client], _checked(name)
    mcp_url = known_url(url) + ("/readonly" if readonly else "")
    servers = {server_name: file.server(mcp_url)}
    snippet = _snippet(file, servers)
    facts = {"client": client, "file": str(file.place), "name": server_name, "url": mcp_url, "written": not show}
    if show:
        return CommandResult(metadata=facts | {"snippet": snippet}, drawing=f"In {file.place}:\n\n{snippet}")
    text = _read(file)
    before = _servers(file, text).get(server_name)
    if before != servers[server_name]:
        _write(file, _with(file, text if before is None else _without(file, text, server_name), servers))
    said = f"{file.place} has {server_name}: {mcp_url}\nLog in: {file.login.format(name=server_name)}"
    return CommandResult(metadata=facts, drawing=said)


def remove(client: Client, name: Name = "mcpist") -> CommandResult:
    """Take a server out of a client's configuration; what else is in the file stays."""
    file, server_name = CLIENT_FILES[client], _checked(name)
    text = _read(file)
    found = server_name in _servers(file, text)
    if found:
        _write(file, _without(file, text, server_name))
    facts = {"client": client, "file": str(file.place), "name": server_name, "removed": found}
    return CommandResult(metadata=facts, drawing=f"{file.place} has no {server_name}{' any more' if found else ''}.")


def _checked(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,50}", name):
        raise CommandError("VALIDATION_ERROR", f"{name!r} is no name of a server.", "Use letters, digits, - and _.")
    return name


def _read(file: ClientFile) -> str:
    try:
        return file.place.read_text("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeError) as error:
        raise _refused(file, f"it cannot be read ({error})") from None


def _write(file: ClientFile, text: str) -> None:
    try:
        write_whole(file.place, text)
    except OSError as error:
        raise _refused(file, f"it cannot be written ({error.strerror})") from None


def _document(file: ClientFile, text: str) -> dict[str, Any]:
    """Return the file's content; CommandError where it is not what the client writes."""
    try:
        document = tomllib.loads(text) if file.place.suffix == ".toml" else json.loads(text or "{}")
    except ValueError as error:
        comments = ", or it has comments, which would be lost" if file.place.suffix == ".json" else ""
        raise _refused(file, f"it is not plain {file.place.suffix[1:].upper()} ({error}){comments}") from None
    if not isinstance(document, dict) or not isinstance(document.get(file.section, {}), dict):
        raise _refused(file, f"its {file.section} is no object")
    return document


def _servers(file: ClientFile, text: str) -> dict[str, Any]:
    servers: dict[str, Any] = _document(file, text).get(file.section, {})
    return servers


def _with(file: ClientFile, text: str, servers: Mapping[str, Any]) -> str:
    if file.place.suffix == ".toml":
        return f"{text.rstrip()}\n\n{_snippet(file, servers)}".lstrip()
    document = _document(file, text)
    document[file.section] = document.get(file.section, {}) | servers
    return _json(document)


def _without(file: ClientFile, text: str, name: str) -> str:
    document = _document(file, text)
    del document[file.section][name]
    if file.place.suffix != ".toml":
        return _json(document)
    header = rf"\[\s*{file.section}\.\"?{name}\"?(\.[^\]]*)?\]"
    kept = re.sub(rf"(?m)^\s*{header}[^\n]*\n?(?:(?!\s*\[)[^\n]*\n?)*", "", text)
    left = _document(file, kept)
    if left | {file.section: left.get(file.section, {})} != document:
        raise _refused(file, f"its {name} is written in a way that is not known here")
    return kept


def _snippet(file: ClientFile, servers: Mapping[str, Any]) -> str:
    if file.place.suffix != ".toml":
        return _json({file.section: servers})
    (name, entry), *_ = servers.items()
    values = "\n".join(f"{key} = {json.dumps(value)}" for key, value in entry.items())
    return f"[{file.section}.{name}]\n{values}\n"


def _json(document: Mapping[str, Any]) -> str:
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n"


def _refused(file: ClientFile, problem: str) -> CommandError:
    hint = "Nothing was changed. `mcpist add CLIENT --print` shows what to write by hand."
    return CommandError("VALIDATION_ERROR", f"{file.place}: {problem}", hint)
