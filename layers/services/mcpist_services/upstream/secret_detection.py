"""Detect values in a configuration that look like secrets."""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import parse_qsl, urlsplit

_SECRET_NAME = re.compile(
    r"(?i)(^|[-_.])(authorization|auth|bearer|cookie|creds?|credentials?|pat|key|token|secret|password|passwd|pwd)([-_.]|$)"
    r"|(apikey|accesskey|privatekey|token|secret|password|passwd)$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Names after a secret that hold none: TOKEN_FILE, KEY_ID.
_METADATA_NAME = re.compile(
    r"(?i)[-_.](file|path|dir|folder|url|uri|endpoint|id|name|type|limit|count|seconds|ttl|mode|method|scheme)$"
)
_HARMLESS_VALUES = {"", "0", "1", "true", "false", "on", "off", "yes", "no", "none"}
_SECRET_VALUE = re.compile(
    r"(?i:^(bearer|basic|token)\s+\S+)"
    r"|\b(sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|\bgh[opsur]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abeprs]-[\w-]{10,}|\b(AKIA|ASIA)[A-Z0-9]{16}\b|\beyJ[\w-]{8,}\.[\w-]{8,}|\bntn_\w{16,}|\bsbp_\w{16,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_COMMAND_OPTION = re.compile(r"^--?([\w.-]+)(?:=(.*))?$", re.DOTALL)
_NAMED_VALUE = re.compile(r"""(([\w.-]+)["']?\s*[=:]\s*["']?)([^\s"',;&]+)""")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
_ASSIGNMENT = re.compile(r"^([\w.-]+)[=:]\s*(.+)$", re.DOTALL)


def is_secret(name: str, value: str) -> bool:
    """Whether a value under this name is probably a secret."""
    return bool(_SECRET_VALUE.search(value)) or (_is_secret_name(name) and value.lower() not in _HARMLESS_VALUES)


def secret_arguments(arguments: Sequence[str]) -> Iterator[int]:
    """Yield the places of secrets in a command's arguments: `--api-key X`, `--token=X`, `KEY=X`."""
    named = ""
    for index, argument in enumerate(arguments):
        option = _COMMAND_OPTION.match(argument)
        setting = option or _ASSIGNMENT.match(argument)
        name, value = (setting[1], setting[2] or "") if setting else (named, argument)
        if is_secret(name, value):
            yield index
        named = option[1] if option and option[2] is None else ""


def secret_in_url(url: str) -> str:
    """Return the part of a URL that holds a secret: `user information`, a parameter's name, `path`; else empty."""
    parts = urlsplit(url)
    if parts.username or parts.password:
        return "user information"
    named = next((name for name, value in parse_qsl(parts.query) if is_secret(name, value)), "")
    return named or ("path" if _SECRET_VALUE.search(parts.path) else "")


def without_secrets(text: str) -> str:
    """Return a text without the parts that look like secrets: `TOKEN=...`, `Bearer ...`, keys of known forms."""
    named = _NAMED_VALUE.sub(lambda found: f"{found[1]}..." if is_secret(found[2], found[3]) else found[0], text)
    return _SECRET_VALUE.sub("...", _BEARER.sub(r"\1 ...", named))


def _is_secret_name(name: str) -> bool:
    spaced = _CAMEL.sub("_", name)
    return bool(_SECRET_NAME.search(spaced)) and not _METADATA_NAME.search(spaced)
