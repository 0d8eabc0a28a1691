"""`mcpist upstream import`: propose a file from an MCP client's servers, with tools in categories."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from infra.cli.client_config import ClientServer, read_client_config
from infra.cli.document import CommandError, CommandResult
from infra.cli.upstream_listings import fetch_listings
from mcpist_services.upstream.categories import is_shell_like
from mcpist_services.upstream.configuration import UpstreamConfiguration, UpstreamServer
from mcpist_services.upstream.listing import Listing
from mcpist_services.upstream.trust import review_warnings

MAX_UNSPLIT_TOOLS = 8  # a category with more tools is split
MIN_CATEGORY_TOOLS = 3  # fewer tools get no category of their own
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
READ_VERBS = re.compile("check|count|describe|fetch|find|get|head|info|inspect|list|lookup|query|read|search|show|view")
# Words that do not name a tool's subject.
VERBS = re.compile(
    f"{READ_VERBS.pattern}|activate|add|append|apply|archive|assign|attach|cancel|clear|click|close|convert|copy|create|delete"
    "|disable|do|download|edit|enable|execute|export|generate|import|insert|install|invoke|link|make|merge|modify|move"
    "|open|patch|perform|post|publish|push|put|remove|rename|replace|reset|resolve|restart|run|save|send|set|start|stop"
    "|submit|summarize|switch|sync|take|think|toggle|trigger|update|upload|upsert|validate|wait|write"
    "|a|after|all|an|and|as|at|before|by|current|for|from|id|in|into|is|new|of|on|or|the|to|with"
)
SYNONYMS = {"dir": "file", "directory": "file", "folder": "file", "path": "file", "memories": "memory"}


def import_upstreams(
    client: Annotated[Path, Argument(metavar="CLIENT_FILE", help="For example ~/.claude.json or .mcp.json.")],
    output: Annotated[Path | None, Option(metavar="FILE", help="Write the proposal to this new file.")] = None,
    stack: Annotated[str, Option(metavar="STACK", help="The stack that may read the secrets.")] = "mcpist",
    offline: Annotated[bool, Option("--offline", help="Do not start the servers to list their tools.")] = False,
) -> CommandResult:
    """Propose a file from the servers in an MCP client's configuration."""
    if output and output.exists():
        hint = "Choose a new file; copy by hand what you need."
        raise CommandError("VALIDATION_ERROR", f"{output} already exists", hint)
    every = read_client_config(client, stack)
    found = [one for one in every if one.server]
    listings = {} if offline else _listings(found)
    categories: dict[str, Any] = {}
    for one in found:
        listing = listings.get(one.name)
        whole = {"description": f"The tools of {one.name}.", "server": one.name, "tools": {"includePatterns": ["*"]}}
        categories |= _split(one, listing) if listing else {one.name: whole}
        one.notes += (
            [] if listing or offline else ["it did not respond, so its tools are one category and wait for approval"]
        )
    proposal = {"mcpServers": {one.name: one.server for one in found}, "categories": categories}
    UpstreamConfiguration.model_validate(proposal)
    text = json.dumps(proposal, indent=2, ensure_ascii=False) + "\n"
    if output:
        output.write_text(text, "utf-8")
    notes = {one.name: one.notes for one in every if one.notes}
    said = [f"{name}: {note}" for name, those in notes.items() for note in those]
    facts = {"file": str(output) if output else None, "upstreams": proposal, "notes": notes}
    return CommandResult(metadata=facts, drawing="\n".join([*([] if output else [text]), *said]))


def split(names: Sequence[str]) -> dict[str, list[str]]:
    """Group tools by a subject that several names share, or else by whether they read; the rest is `other`."""
    # A word that all names share, such as the server's own, tells no tool from another.
    common = set.intersection(*(set(_words(name)) for name in names)) if names else set()
    words = {name: [word for word in _words(name) if word not in common] for name in names}
    parts: dict[str, list[str]] = {}
    left = list(names)
    while shared := Counter(word for name in left for word in dict.fromkeys(words[name])):
        word, times = shared.most_common(1)[0]
        if times < MIN_CATEGORY_TOOLS:
            break
        parts[word] = [name for name in left if word in words[name]]
        left = [name for name in left if word not in words[name]]
    if not parts or (len(parts) == 1 and len(left) < MIN_CATEGORY_TOOLS):
        return _by_effect(names)
    return parts | ({"other": left} if left else {})


def _by_effect(names: Sequence[str]) -> dict[str, list[str]]:
    """Group tools into reading and writing ones by the first word; one group if either would be small."""
    reading = [name for name in names if READ_VERBS.fullmatch(next(iter(_all_words(name)), ""))]
    writing = [name for name in names if name not in reading]
    return (
        {"read": reading, "write": writing}
        if min(len(reading), len(writing)) >= MIN_CATEGORY_TOOLS
        else {"": list(names)}
    )


def _split(found: ClientServer, listing: Listing) -> dict[str, Any]:
    """Return categories that name, and so approve, their tools, except tools with a warning or a shell."""
    usual = []
    for tool in listing.tools:
        reasons = [*review_warnings(tool), *(["it runs commands"] if is_shell_like(tool.name) else [])]
        if reasons:
            found.notes.append(f"{tool.name!a} was left out: {'; '.join(reasons)}")
        else:
            usual.append(tool.name)
    parts = split(usual) if len(usual) > MAX_UNSPLIT_TOOLS else {"": usual}
    return {
        f"{found.name}.{part}" if part else found.name: {
            "description": f"{found.name} {part}".strip() + f": {', '.join(names[:4])}{' ...' if names[4:] else ''}",
            "server": found.name,
            "tools": {"includeNames": names},
        }
        for part, names in parts.items()
        if names
    }


def _listings(found: Iterable[ClientServer]) -> dict[str, Listing]:
    """List the servers' tools with the client's own secrets, which stay in this process."""
    servers: Mapping[str, UpstreamServer] = {one.name: UpstreamServer.model_validate(one.server) for one in found}
    secrets = {reference: value for one in found for reference, value in one.secrets.items()}
    return {name: answer.listing for name, answer in fetch_listings(servers, secrets).items() if answer.listing}


def _words(name: str) -> list[str]:
    """Return the nouns of a tool's name, in the singular."""
    return [_singular(word) for word in _all_words(name) if not VERBS.fullmatch(word)]


def _all_words(name: str) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9]+", _CAMEL.sub("_", name).lower()) if word]


def _singular(word: str) -> str:
    word = SYNONYMS.get(word, word)
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    singular = word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word
    return SYNONYMS.get(singular, singular)
