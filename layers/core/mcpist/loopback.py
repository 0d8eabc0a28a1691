"""Addresses on this machine's loopback, where one server has several names."""

from functools import lru_cache
from urllib.parse import urlsplit

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


@lru_cache(64)
def same_urls(url: str) -> tuple[str, ...]:
    """Return an URL, and on loopback the same by the other names of the host."""
    parts = urlsplit(url)
    name, port = _split(parts.netloc)
    if name not in LOOPBACK_NAMES:
        return (url,)
    others = [parts._replace(netloc=f"{other}{port}").geturl() for other in LOOPBACK_NAMES if other != name]
    return (url, *others)


def is_loopback_url(url: str) -> bool:
    """Whether an URL leads to the machine of whoever opens it."""
    return len(same_urls(url)) > 1


def _split(host: str) -> tuple[str, str]:
    """Return a host's name, and its port with the colon."""
    name, colon, port = host.rpartition(":")
    return (name, colon + port) if name and not port.endswith("]") else (host, "")
