"""Addresses of databases: `scheme://user:password@host:port/database`, as providers of databases show them.

Reference: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS,
https://dev.mysql.com/doc/refman/8.4/en/connecting-using-uri-or-key-value-pairs.html
"""

import base64
import binascii
import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from mcpist.errors import InvalidRequest

# Whatever is written of them, TLS is verified; `disable` counts inside the owner's networks alone.
_PLAIN_MODES = frozenset({"disable", "disabled"})
_SSL_MODES = _PLAIN_MODES | {
    *("allow", "prefer", "require", "verify-ca", "verify-full"),
    *("preferred", "required", "verify_ca", "verify_identity"),
}
_OTHER_NAMES = {"ssl-mode": "sslmode", "ssl-ca": "sslrootcert"}
_IGNORED_PARAMETERS = frozenset({"application_name", "channel_binding", "charset", "connect_timeout"})


@dataclass(frozen=True, slots=True)
class DatabaseKind:
    """A kind of database, of which a module is named by its scheme."""

    scheme: str
    key_pattern: re.Pattern[str]
    """What is an address at first sight."""
    default_port: int
    protocol: str
    """The version of its protocol."""
    commits_unasked: bool = False
    """Whether some statements commit by themselves."""


POSTGRESQL = DatabaseKind("postgresql", re.compile(r"postgres(ql)?://[!-~]{8,4000}"), 5432, "3")
MYSQL = DatabaseKind("mysql", re.compile(r"(mysql|mariadb)://[!-~]{8,4000}"), 3306, "10", commits_unasked=True)


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A database and the role that logs in there; its repr shows no password."""

    host: str
    port: int
    database: str
    user: str
    password: str = field(repr=False)
    title: str
    """The account's name for people."""
    is_plain: bool = False
    """Whether the owner of the account wants no TLS."""
    root_certificates: bytes = b""
    """The certificates (DER) that the server's must come from; the public ones where it is empty."""


def parse_address(url: str, kind: DatabaseKind) -> DatabaseAddress:
    """Return the database of a URL; InvalidRequest, which quotes nothing of it, for one that cannot be used."""
    try:
        parts = urlsplit(url)
        port, host = parts.port or kind.default_port, parts.hostname or ""
        user, password = unquote(parts.username or "", errors="strict"), unquote(parts.password or "", errors="strict")
        database = unquote(parts.path.removeprefix("/"), errors="strict")
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise _refuse("it is no URL; escape @ : / ? # % in the password, e.g. @ as %40") from None
    if not (kind.key_pattern.fullmatch(url) and host and user and password and database) or parts.fragment:
        raise _refuse(f"it is not {kind.scheme}://user:password@host:port/database")
    if "\x00" in user + password + database or "," in host:
        raise _refuse("it names several hosts, or has a character that no name has")
    parameters = {_OTHER_NAMES.get(name, name): value for name, value in given}
    if unknown := sorted(parameters.keys() - _IGNORED_PARAMETERS - {"sslmode", "sslrootcert"}):
        raise _refuse(f"the parameter {unknown[0][:50]} is not supported")
    mode = parameters.get("sslmode", "require").lower()
    if mode not in _SSL_MODES:
        raise _refuse("its sslmode is none that there is")
    title = f"{user}@{host}{'' if port == kind.default_port else f':{port}'}/{database}"
    roots = _certificates(parameters.get("sslrootcert", "system"))
    return DatabaseAddress(host, port, database, user, password, title, mode in _PLAIN_MODES, roots)


def _certificates(text: str) -> bytes:
    """Return the certificates of a parameter: Base64 as between a PEM's lines, several joined by commas."""
    if text == "system":
        return b""
    try:
        found = b"".join(base64.b64decode(one.replace(" ", "+"), validate=True) for one in text.split(","))
    except binascii.Error:
        found = b""
    if not found:
        raise _refuse("its sslrootcert is no certificate: write the Base64 between the two lines of its PEM")
    return found


def _refuse(problem: str) -> InvalidRequest:
    return InvalidRequest(field="key", problem=problem)
