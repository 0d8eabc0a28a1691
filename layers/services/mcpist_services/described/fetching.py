"""Fetching of descriptions, from addresses of the internet alone."""

import time
from urllib.parse import urlsplit

from mcpist.bounded_http.client import HttpClient
from mcpist.bounded_http.failures import ExchangeFailed, ResponseTooLarge
from mcpist.errors import InvalidRequest, UpstreamUnavailable
from mcpist.oauth.provider import check_public_url
from mcpist_services.definitions import refuse
from mcpist_services.described.references import MAX_SOURCE_BYTES

DESCRIPTION_FETCH_SECONDS = 30.0


def fetch(url: str) -> bytes:
    """Return the response of an address, following a few redirects; each address must be of the internet, by https."""
    client = HttpClient(max_bytes=MAX_SOURCE_BYTES, connect_seconds=5.0, keep_alive=False)
    try:
        response = client.get(url, deadline=time.monotonic() + DESCRIPTION_FETCH_SECONDS, check=check_public_url)
    except ValueError as error:
        raise InvalidRequest(field="source", problem=str(error)) from None
    except ResponseTooLarge:
        raise refuse("source", f"it is larger than {MAX_SOURCE_BYTES // 1_000_000} MB") from None
    except ExchangeFailed as error:
        raise UpstreamUnavailable(service=urlsplit(url).hostname or "", problem=str(error)) from None
    if response.status != 200:
        raise UpstreamUnavailable(service=urlsplit(url).hostname or "", problem=f"it answered {response.status}")
    return response.body
