"""A project's API keys: the choice of one for the data API, and masking.

Reference: https://supabase.com/docs/guides/getting-started/api-keys
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from mcpist.errors import InvalidRequest

_UNMASKED_KEY = re.compile(r"[A-Za-z0-9._-]+")  # a masked key has other characters
_VISIBLE_PREFIX = re.compile(r"(sb_[a-z]+_)?.{4}")
_JWT_PREFIX = "eyJ"  # how a JWT begins
_MIN_MASKED_CHARACTERS = 16  # four characters of a shorter key would reveal too much

_PUBLIC_KINDS = {"anon", "publishable"}  # row level security is what protects the data from them

type ApiKey = Mapping[str, Any]


def public_key(keys: Iterable[ApiKey]) -> str:
    """Return the key with the fewest rights: the publishable one or the legacy `anon`, never one above all policies."""
    kinds = {_kind(each): each["api_key"] for each in keys if _UNMASKED_KEY.fullmatch(each.get("api_key") or "")}
    key: str | None = kinds.get("publishable") or kinds.get("anon")
    if key is None:
        problem = "the project has no publishable key: create one in its settings, or read with supabase.query"
        raise InvalidRequest(field="project_ref", problem=problem)
    return key


def headers(key: str) -> dict[str, str]:
    """Return the headers of a request to the data API; only a legacy key may also be sent as a token."""
    return {"apikey": key} | ({"authorization": f"Bearer {key}"} if key.startswith(_JWT_PREFIX) else {})


def masked(key: ApiKey) -> dict[str, Any]:
    """Return a key for display: whole where browsers get it, else its first characters, which are of no use."""
    api_key = key.get("api_key") or ""
    names = ("id", "name", "type", "description", "inserted_at", "updated_at")
    about = {name: key.get(name) for name in names}
    if _kind(key) in _PUBLIC_KINDS:
        return about | {"api_key": api_key or "…"}
    shown = _VISIBLE_PREFIX.match(api_key) if len(api_key) >= _MIN_MASKED_CHARACTERS else None
    return about | {"api_key": f"{shown[0] if shown else ''}…"}


def _kind(key: ApiKey) -> str:
    """Return `publishable`, `secret`, or the name of a legacy key; the name of any other key could be `anon` too."""
    kind = str(key.get("type") or "legacy")
    return str(key["name"]) if kind == "legacy" else kind
