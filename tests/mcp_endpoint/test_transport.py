"""The transport: what the SDK would keep open ends at once."""

import time

from tests.mcp_endpoint.endpoint_client import EndpointClient


def test_a_request_for_a_stream_is_an_unknown_method_at_once(endpoint: EndpointClient) -> None:
    endpoint.request("server/discover")
    began = time.monotonic()
    answer = endpoint.request("subscriptions/listen", notifications={"toolsListChanged": True})
    assert answer["error"]["code"] == -32601
    assert time.monotonic() - began < 10  # a stream would last as long as the request may
