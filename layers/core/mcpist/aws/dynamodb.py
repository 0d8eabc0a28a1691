"""Requests of a function to DynamoDB: its JSON over kept connections. Without this file botocore sends them.

A request by botocore takes three times the CPU, and the first one a seventh of a cold start. What botocore knows and
this does not is needed outside of functions alone: profiles, single sign-on, proxies, other endpoints.
"""

import base64
import json
import os
import random
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from snapshot_restore_py import register_before_snapshot

from mcpist.aws.clients import error_code, timeouts_and_attempts, to_error
from mcpist.aws.connections import Connections, HttpAnswer, tls_context
from mcpist.aws.credentials import CredentialsUnavailable, FunctionCredentials, function_credentials, signed_headers
from mcpist.errors import StoreUnavailable
from mcpist.settings import settings

TARGET = "DynamoDB_20120810"
CONTENT_TYPE = "application/x-amz-json-1.0"
# Botocore's pauses: up to these seconds before the second attempt, and twice that before each further one.
THROTTLE_BACKOFF_SECONDS, TRANSIENT_BACKOFF_SECONDS = 1.0, 0.025
# With one of these set, AWS is not reached in the way that this file knows.
BOTOCORE_VARIABLES = (
    *("AWS_CA_BUNDLE", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_USE_FIPS_ENDPOINT"),
    *("HTTPS_PROXY", "https_proxy"),
)

_THROTTLE_CODES = {
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
    "TransactionInProgressException",
}
_TRANSIENT_CODES = {"ReplicatedWriteConflictException", "RequestTimeout", "RequestTimeoutException"}


def own_transport() -> "HttpTransport | None":
    """Return the way to DynamoDB of a function; None where botocore must be asked."""
    url = endpoint_url(os.environ.get("AWS_REGION", ""))
    special = url.startswith("https:") and any(map(os.environ.get, BOTOCORE_VARIABLES))
    if "AWS_LAMBDA_FUNCTION_NAME" not in os.environ or special:
        return None
    connect, read, attempts = timeouts_and_attempts(settings().store_seconds)
    connections = Connections(url, connect_seconds=connect, read_seconds=read)
    return HttpTransport(connections, function_credentials, os.environ["AWS_REGION"], attempts)


def endpoint_url(region: str) -> str:
    """Return the address of DynamoDB in a region."""
    given = os.environ.get("AWS_ENDPOINT_URL_DYNAMODB") or os.environ.get("AWS_ENDPOINT_URL")
    suffix = {"cn-": "amazonaws.com.cn", "eus": "amazonaws.eu"}.get(region[:3], "amazonaws.com")
    return given or f"https://dynamodb.{region}.{suffix}"


@dataclass(frozen=True, slots=True)
class HttpTransport:
    """Sends signed JSON."""

    connections: Connections
    credentials: FunctionCredentials
    region: str
    attempts: int
    """How often a request is sent at most."""
    pause: Callable[[float], None] = time.sleep

    def __call__(self, store: str, operation: str, parameters: Mapping[str, Any]) -> Any:
        """Send a request; the pauses before a repetition are botocore's."""
        body = _encoder.encode(parameters).encode()
        for attempt in range(self.attempts):
            answer = self._attempt(operation, body)
            if answer and answer.status == HTTPStatus.OK:
                return json.loads(answer.body)
            code, message, reasons = _error_of(answer)
            if not (backoff := _backoff_seconds(answer, code)):
                raise to_error(store, operation, message, code, reasons)
            if attempt + 1 < self.attempts:
                self.pause(random.random() * backoff * 2**attempt)  # noqa: S311 - no secret
        raise StoreUnavailable(store=store)

    def _attempt(self, operation: str, body: bytes) -> HttpAnswer | None:
        """Return the answer to one attempt; None if there is none that is whole."""
        headers = {
            "content-type": CONTENT_TYPE,
            "host": self.connections.host,
            "x-amz-target": f"{TARGET}.{operation}",
        }
        try:
            credentials = self.credentials.current()
            signed = signed_headers(headers, body, credentials, service="dynamodb", region=self.region, now=time.time())
            answer = self.connections.post(body, signed)
        except (OSError, CredentialsUnavailable):
            return None
        checksum = answer.headers.get("x-amz-crc32")
        return None if checksum and int(checksum) != zlib.crc32(answer.body) else answer


def _backoff_seconds(answer: HttpAnswer | None, code: str) -> float:
    """Return the longest pause before a second attempt; 0 for an error that stays the same."""
    if code in _THROTTLE_CODES or (answer and answer.status == HTTPStatus.TOO_MANY_REQUESTS):
        return THROTTLE_BACKOFF_SECONDS
    transient = answer is None or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or code in _TRANSIENT_CODES
    return TRANSIENT_BACKOFF_SECONDS if transient else 0


def _error_of(answer: HttpAnswer | None) -> tuple[str, str, list[str]]:
    """Return the code and the message of an error, and the codes for which a transaction was cancelled."""
    if answer is None:
        return "", "", []
    try:
        error = json.loads(answer.body)
        code = error["__type"].rpartition("#")[2]
    except (ValueError, TypeError, KeyError):
        return str(answer.status), "", []
    reasons = [reason.get("Code", "") for reason in error.get("CancellationReasons") or ()]
    return error_code(code, reasons), error.get("message") or error.get("Message") or "", reasons


# The only values that JSON does not know are bytes, which DynamoDB takes in base64.
_encoder = json.JSONEncoder(default=lambda value: base64.b64encode(value).decode(), separators=(",", ":"))
register_before_snapshot(tls_context)
