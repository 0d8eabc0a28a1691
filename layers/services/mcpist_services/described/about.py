"""About a whole API: what an overlay says of it, by its description: title, address, limits and tags."""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from mcpist.oauth.provider import check_public_url
from mcpist_services.definitions import refuse
from mcpist_services.described.description import Description, Operation
from mcpist_services.described.wording import first_sentence, plain, sentence

_RATE_LIMIT = re.compile(r"x-?rate-?limit|x-?throttl", re.IGNORECASE)


def propose_about(description: Description) -> dict[str, Any]:
    """Return an overlay's entries about the whole API."""
    title = plain(description.title)
    return {
        "title": title[:100] or "API",
        "description": sentence(first_sentence(description.about, 300)) or title[:300],
        "version": description.version[:50],
        "description_hash": description.hash,
        "rate_limits": _rate_limits(description),
    }


def host_of(description: Description, server: str) -> str:
    """Return the address before the paths; InvalidRequest for one that is missing, templated, private or no https."""
    place, url = ("server", server) if server else ("#/servers", next(iter(description.servers), ""))
    hint = "name it: --server https://..."
    if not url:
        raise refuse(place, f"the description names no server; {hint}")
    if "{" in url:
        raise refuse(place, f"the server {url[:200]} is a template; {hint}")
    if not urlsplit(url).scheme:
        raise refuse(place, f"the server {url[:200]} is relative; {hint}")
    if urlsplit(url).query or urlsplit(url).fragment:
        raise refuse(place, f"the server {url[:200]} has a query or a fragment; {hint}")
    try:
        return check_public_url(url, loopback=bool(server)).rstrip("/")
    except ValueError as error:
        other = "" if server else f"; {hint}"
        raise refuse(place, f"the server {url[:200]} cannot be used: {error}{other}") from None


def moved(description: Description, host: str) -> tuple[str, ...]:
    """Return a line for review where the description names another server: no import moves credentials to it."""
    named = next(iter(description.servers), host)
    is_named = host in (one.rstrip("/") for one in description.servers)
    return () if "{" in named or is_named else (f"the description names {named}",)


def _rate_limits(description: Description) -> tuple[str, ...]:
    """Return the limits by the description's own extensions and its responses of status 429."""
    found = [f"{key}: {value}" for key, value in description.root.items() if _RATE_LIMIT.search(key)]
    for operation in description.operations:
        found += [f"{key}: {value}" for key, value in operation.extensions.items() if _RATE_LIMIT.search(key)]
        if refusal := operation.responses.get("429"):
            found.append(first_sentence(str(refusal.get("description") or ""), 200))
    return tuple(dict.fromkeys(filter(None, (text[:200] for text in found))))[:5]


def tags_of(operations: Iterable[Operation]) -> tuple[str, ...]:
    """Return the tags by which the module is found: those of its operations."""
    tags = [plain(tag).lower()[:40] for operation in operations for tag in operation.tags]
    return tuple(dict.fromkeys(filter(None, tags)))[:10]
