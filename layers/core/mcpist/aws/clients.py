"""AWS clients, made once per sandbox, and the typed errors of their requests."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from mcpist.errors import StoreUnavailable
from mcpist.memory import cached
from mcpist.settings import settings

CONNECT_TIMEOUT_SECONDS = 1
READ_TIMEOUT_SECONDS = 3
MAX_ATTEMPTS = 3
CONNECT_SHARE = 0.4  # of the time of an attempt
MAX_BACKOFF_SECONDS = 1  # botocore's, after a first attempt

# S3 answers a HEAD request without a body, so its status alone is the code.
_TRANSIENT_CODES = {
    *("500", "503", "InternalError", "InternalServerError", "KMSInternalException", "ServiceUnavailable"),
    *("ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"),
    *("RequestTimeout", "SlowDown"),
}
_CONDITION_CODES = {"ConditionalCheckFailedException", "ConditionalRequestConflict", "PreconditionFailed"}
# The reasons for which DynamoDB cancels a transaction that has met another one.
_CONFLICT_REASONS = {"ConditionalCheckFailed", "TransactionConflict"}
# Those for which it cancels one that may be sent again.
_THROTTLE_REASONS = {"ProvisionedThroughputExceeded", "ThrottlingError"}
_MISSING_CODES = {"404", "NoSuchKey", "ParameterNotFound", "ResourceNotFound", "StateMachineDoesNotExist"}
_EXISTS_CODES = {"ExecutionAlreadyExists", "StateMachineAlreadyExists"}


class AwsError(Exception):
    """AWS refused a request, and retrying it as it is would not help; `code` is AWS's own error code."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class ConditionFailed(AwsError):
    """The condition of a write does not hold, or another write of the same item was faster."""


class ResourceMissing(AwsError):
    """The named object, parameter or state machine does not exist."""


class ResourceExists(AwsError):
    """A resource with this name exists already."""


@cached
def session() -> Any:
    """Return the sandbox's AWS session.

    It is botocore's: importing boto3 costs as much CPU again and adds nothing here.
    """
    import botocore.session

    from mcpist.aws.botocore_loader import ServiceModelLoader

    # At DEBUG these libraries log requests, which carry secrets and personal data.
    for library in ("botocore", "urllib3"):
        logging.getLogger(library).setLevel(logging.WARNING)
    botocore_session = botocore.session.get_session()
    botocore_session.register_component("data_loader", ServiceModelLoader())
    return botocore_session


@cached
def client(
    service: str,
    *,
    connect_seconds: float | None = None,
    read_seconds: float | None = None,
    attempts: int | None = None,
    signature: str | None = None,
) -> Any:
    """Return a low-level client with short timeouts and few attempts: shorter and fewer if `store_seconds` is set.

    Parameters are not validated (AWS does that) and the user agent is computed once: that saves a third of the CPU
    of a request.
    """
    from botocore.config import Config

    connect, read, tries = timeouts_and_attempts(settings().store_seconds)
    return session().create_client(
        service,
        config=Config(
            connect_timeout=connect_seconds or connect,
            read_timeout=read_seconds or read,
            retries={"mode": "standard", "total_max_attempts": attempts or tries},
            parameter_validation=False,
            user_agent=session().user_agent(),
            signature_version=signature,
        ),
    )


def timeouts_and_attempts(seconds: float) -> tuple[float, float, int]:
    """Return the timeouts for connecting and reading, and the attempts, that together stay within `seconds`."""
    if not seconds:
        return CONNECT_TIMEOUT_SECONDS, READ_TIMEOUT_SECONDS, MAX_ATTEMPTS
    attempt = (seconds - MAX_BACKOFF_SECONDS) / 2
    return attempt * CONNECT_SHARE, attempt * (1 - CONNECT_SHARE), 2


@contextmanager
def store_errors(store: str) -> Iterator[None]:
    """Raise StoreUnavailable if the store is down, and an AwsError if it refuses the request."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        reasons = [reason.get("Code", "") for reason in error.response.get("CancellationReasons", [])]
        refusal = error.response["Error"]
        code = error_code(refusal["Code"], reasons)
        raise to_error(store, error.operation_name, refusal.get("Message", ""), code, reasons) from None
    except BotoCoreError as error:
        raise StoreUnavailable(store=store) from error


def error_code(code: str, reasons: Iterable[str]) -> str:
    """Return the code of an error; a transaction that was cancelled for want of capacity alone was throttled."""
    met = {*reasons} - {"None"}
    # Without a conflict among the reasons the transaction itself is not wrong, and may be sent again.
    return "ThrottlingException" if met and met <= _THROTTLE_REASONS else code


def to_error(
    store: str, operation: str, message: str, code: str, reasons: Iterable[str] = ()
) -> StoreUnavailable | AwsError:
    """Return AWS's error as a typed one; `reasons` are those for which a transaction was cancelled.

    It has only the first line of the message: below it stands the request, with its token, to which a signature does
    not fit.
    """
    if code in _TRANSIENT_CODES:
        return StoreUnavailable(store=store)
    return _error_class(code, set(reasons))(f"({code}) {operation}: {message.partition('\n')[0]}", code)


def _error_class(code: str, reasons: set[str]) -> type[AwsError]:
    if code in _CONDITION_CODES or reasons & _CONFLICT_REASONS:
        return ConditionFailed
    if code in _MISSING_CODES:
        return ResourceMissing
    return ResourceExists if code in _EXISTS_CODES else AwsError
