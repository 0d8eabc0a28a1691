"""The file in which `mcpist login` keeps tokens: only its owner can read it."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from infra.cli.document import CommandError
from infra.cli.whole_file import ONLY_OWNER, write_whole

READABLE_BY_OTHERS = 0o077


@dataclass(frozen=True)
class KeptLogin:
    """A person's tokens for one deployment."""

    url: str
    """The deployment's origin."""
    resource: str
    """What the tokens are issued for."""
    client_id: str
    token_endpoint: str
    revocation_endpoint: str
    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_at: float | None
    """The end of the access token (epoch seconds); None where the server did not say."""


def logins_file() -> Path:
    """Return the path of the file, in the user's own configuration folder."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "mcpist" / "logins.json"


def find(url: str | None = None) -> KeptLogin | None:
    """Return the login at a deployment; without a URL the latest one."""
    known = _read()
    # `save` puts a login last, so the last one of the file is the latest.
    return known.get(url or next(reversed(known), ""))


def save(login: KeptLogin) -> None:
    """Store a login as the latest one."""
    with locked():
        known = _read()
        known.pop(login.url, None)
        _write({**known, login.url: login})


def remove(url: str) -> None:
    """Remove the login at a deployment."""
    with locked():
        known = _read()
        known.pop(url, None)
        _write(known)


@contextmanager
def locked() -> Iterator[None]:
    """Let one process at a time change the file: a refresh token is often valid only once."""
    path = logins_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600), "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def replace(login: KeptLogin) -> None:
    """Store new tokens of a login, inside of `locked`, without making it the latest one."""
    _write({**_read(), login.url: login})


def _read() -> dict[str, KeptLogin]:
    path = logins_file()
    try:
        with path.open(encoding="utf-8") as file:
            if os.fstat(file.fileno()).st_mode & READABLE_BY_OTHERS:
                raise CommandError("AUTHENTICATION_ERROR", f"Others can read {path}.", f"Run: chmod 600 {path}")
            content = json.load(file)
        return {url: KeptLogin(**fields) for url, fields in content.items()}
    except FileNotFoundError:
        return {}
    except (AttributeError, OSError, TypeError, ValueError):
        hint = f"Remove {path} and run `mcpist login` again."
        raise CommandError("AUTHENTICATION_ERROR", f"{path} cannot be read.", hint) from None


def _write(logins: dict[str, KeptLogin]) -> None:
    text = json.dumps({url: asdict(login) for url, login in logins.items()})
    write_whole(logins_file(), text, mode=ONLY_OWNER)
