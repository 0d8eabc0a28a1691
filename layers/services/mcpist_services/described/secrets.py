"""Secrets in answers: fields that hold a credential by their name, their schema or their value, and their mask."""

import json
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
# What a secret's own object calls it, or the object of a variable: {"name": "DB_PASSWORD", "value": "..."}.
_VALUES = ("value", "values", "plaintext", "raw")
_LABELS = ("name", "key")
MAX_VARIABLE_NAME_CHARACTERS = 100
# A key begins where a word does, so that long texts are read once.
_KEY_VALUE = re.compile(
    r"(?<![\w-])(?:(sk|rk|pk)_(live|test)_\w{10,}|sk-[\w-]{20,}|gh[a-z]_\w{30,}|github_pat_\w{20,}|glpat-[\w-]{20,}|"
    r"xox[a-z]-[\w-]{10,}|dop_v1_\w{20,}|AKIA[A-Z0-9]{16}|AIza[\w-]{35}|SG\.[\w-]{20,}\.[\w-]{20,}|"
    r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*|"
    r"(?:Bearer|Basic) (?=\S{0,200}\d)[\w.~+/-]{12,}=*|"
    r"[a-z][a-z0-9+.-]{0,30}://[^\s/:@]{0,1000}:[^\s/@]{1,1000}@[^\s\"'<>]*)"
)
_QUERY = re.compile(r"(?<=[?&#])([\w.-]{1,60})=[^&#\s\"'<>]+")


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


def masked(value: Any, names: Collection[str], *keys: str) -> Any:
    """Return an answer with a mask for each secret; `names` are further fields of them, `!name` is one to keep.

    `keys` are the names under which the value stands: its field's, and for a field such as `value` also the name of its
    object.
    """
    is_listed = any(key in names for key in keys)
    if isinstance(value, dict):
        labels = (one for name in _LABELS if isinstance(one := value.get(name), str))
        around = (*keys, *(one for one in labels if len(one) < MAX_VARIABLE_NAME_CHARACTERS))
        return {
            name: masked(one, names, name, *(around if is_listed or name in _VALUES else ()))
            for name, one in value.items()
        }
    if isinstance(value, list):
        return [masked(one, names, *keys) for one in value]
    if is_listed and not isinstance(value, bool | None):
        return MASKED if value != "" else value
    if not isinstance(value, str) or any(f"!{key}" in names for key in keys):
        return value
    secret = any(is_secret_name(key) for key in keys)
    return MASKED if value and secret else _masked_text(value, names)


def _masked_text(text: str, names: Collection[str]) -> str:
    """Return a text with a mask for each key in it, for the secrets of its URLs, and for those of a text of JSON."""
    if text.lstrip()[:1] in {"{", "["}:
        try:
            found = json.loads(text)
            changed = masked(found, names)
        except (ValueError, RecursionError):
            changed = found = None
        if changed != found:
            return json.dumps(changed, ensure_ascii=False)
    text = _KEY_VALUE.sub(MASKED, text)
    return _QUERY.sub(lambda pair: f"{pair[1]}={MASKED}" if is_secret_name(pair[1]) else pair[0], text)
