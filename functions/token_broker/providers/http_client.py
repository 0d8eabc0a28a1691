"""The broker's HTTP client: one exchange with a provider, bounded in time and size; no redirect is followed."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpist.bounded_http.failures import ExchangeFailed, ExchangeTimeout
from mcpist.errors import Timeout, UpstreamUnavailable
from mcpist.oauth.provider import ProviderRequest

PROVIDER_CONNECT_SECONDS = 3.0
PROVIDER_TIMEOUT_SECONDS = 10.0
MAX_PROVIDER_RESPONSE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class ProviderResponse:
    """A provider's answer: lower-case headers, and the body's JSON, or None where it is none."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: Any = field(repr=False)

    @property
    def is_success(self) -> bool:
        """Whether the status says that it worked; some providers say so with an error in the body."""
        return 200 <= self.status < 300

    def field(self, name: str) -> Any:
        """A field of the body, None where there is none."""
        return self.body.get(name) if isinstance(self.body, dict) else None


def send(request: ProviderRequest, provider: str, seconds: float = PROVIDER_TIMEOUT_SECONDS) -> ProviderResponse:
    """Return the provider's response within these seconds; Timeout or UpstreamUnavailable where there is none.

    Neither tells whether the request arrived. No connection is kept: a request that dies on an old one cannot be
    repeated.
    """
    from mcpist.bounded_http.client import HttpClient, parse_json

    client = HttpClient(
        max_bytes=MAX_PROVIDER_RESPONSE_BYTES, connect_seconds=PROVIDER_CONNECT_SECONDS, keep_alive=False
    )
    headers = {"accept": "application/json", "accept-encoding": "identity", **request.headers}
    try:
        response = client.exchange(
            request.method,
            request.url,
            deadline=time.monotonic() + seconds,
            json=request.json,
            form=request.form,
            headers=headers,
        )
    except ExchangeTimeout:
        raise Timeout(service=provider, seconds=round(seconds, 1)) from None
    except ExchangeFailed as error:
        raise UpstreamUnavailable(service=provider, problem=str(error)) from None
    return ProviderResponse(response.status, response.headers, parse_json(response.body))
