"""Secrets in answers: fields that hold a credential by their name, their schema or their value, and their mask."""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from mcpist_services.described.wording import listed, words

MASKED = "[masked]"

_SECRETS = listed("apikey credential credentials passcode passphrase passwd password pwd secret secrets token tokens")
_KEYS = listed("access account api auth encryption license master private secret shared signing storage webhook")
# A token with one of these before it says where a list goes on, or is one of a text's.
_PLACES = listed(
    "change continuation count cursor delta last max min next page pagination prev previous skip start sync"
)
_KEY_VALUE = re.compile(
    r"(sk|rk|pk)_(live|test)_\w{10,}|sk-[\w-]{20,}|gh[a-z]_\w{30,}|github_pat_\w{20,}|glpat-[\w-]{20,}|"
    r"xox[a-z]-[\w-]{10,}|dop_v1_\w{20,}|AKIA[A-Z0-9]{16}|AIza[\w-]{35}|SG\.[\w-]{20,}\.[\w-]{20,}|"
    r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*|[a-z][a-z0-9+.-]*://[^\s/:@]*:[^\s/@]+@\S*"
)


@lru_cache(10_000)
def is_secret_name(name: str) -> bool:
    """Whether a field of this name holds a secret: `auth_token`, `clientSecret`, but not `next_page_token`."""
    *before, last = words(name) or [""]
    if last in {"token", "tokens"}:
        return _PLACES.isdisjoint(before)
    return last in _SECRETS or (last in {"key", "keys"} and bool(before) and before[-1] in _KEYS)


def is_secret_schema(schema: Mapping[str, Any]) -> bool:
    """Whether a text is a secret by its schema: its format, or an example that looks like a key."""
    example = schema.get("example")
    return schema.get("format") == "password" or (isinstance(example, str) and is_key(example))


def is_key(text: str) -> bool:
    """Whether a text is a key, a token or an address with a password in it, by how those of known services look."""
    return _KEY_VALUE.fullmatch(text) is not None


def masked(value: Any, names: Collection[str], key: str = "") -> Any:
    """Return an answer with a mask for each secret text; `names` are further fields of them, `!name` is one to keep."""
    if isinstance(value, dict):
        return {name: masked(one, names, str(name)) for name, one in value.items()}
    if isinstance(value, list):
        return [masked(one, names, key) for one in value]
    secret = key in names or (f"!{key}" not in names and is_secret_name(key))
    return MASKED if isinstance(value, str) and value and (secret or is_key(value)) else value
