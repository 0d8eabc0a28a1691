"""The time limits of AWS clients, and the errors of their requests."""

import traceback

import pytest
from botocore.exceptions import ClientError

from infra.local.template import read_template
from mcpist.aws.clients import MAX_BACKOFF_SECONDS, AwsError, client, store_errors
from mcpist.memory import forget_all
from mcpist.running.broker import INVOKE_TIMEOUT_SECONDS
from tests.conftest import TEMPLATE

MIN_CONNECT_SECONDS = 1.0
MIN_READ_SECONDS = 1.5


@pytest.mark.parametrize("function", ["McpEndpointFunction", "StepRunnerFunction", "TokenBrokerFunction"])
def test_a_store_is_given_the_time_that_it_needs_after_a_restore_and_no_more_than_the_door_has(
    function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restored sandbox has no connection and a cold memory: a third of a second was too little to connect."""
    (door,) = [one for one in read_template(TEMPLATE, {"OwnLogin": "off"}).functions if one.id == function]
    monkeypatch.setenv("STORE_SECONDS", door.environment.get("STORE_SECONDS", ""))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    forget_all()
    try:
        config = client("dynamodb").meta.config
    finally:
        forget_all()
    assert config.connect_timeout >= MIN_CONNECT_SECONDS
    assert config.read_timeout >= MIN_READ_SECONDS
    attempts = config.retries["total_max_attempts"]
    worst = attempts * (config.connect_timeout + config.read_timeout) + (attempts - 1) * MAX_BACKOFF_SECONDS
    waits = INVOKE_TIMEOUT_SECONDS if function == "TokenBrokerFunction" else door.timeout_seconds
    assert worst <= waits * 0.55


QUOTED = """The signature does not match.

The Canonical String for this request should have been
'POST
x-amz-security-token:secret-token'"""


@pytest.mark.parametrize("operation", ["GetObject", "Decrypt", "Invoke", "StartExecution", "GetParameter"])
def test_no_error_of_botocore_repeats_the_request_that_a_refused_signature_was_compared_with(operation: str) -> None:
    refusal = ClientError({"Error": {"Code": "InvalidSignatureException", "Message": QUOTED}}, operation)
    with pytest.raises(AwsError, match="does not match") as raised, store_errors("files"):
        raise refusal
    assert (raised.value.code, operation in str(raised.value)) == ("InvalidSignatureException", True)
    assert "secret-token" not in "".join(traceback.format_exception(raised.value)), "what the log has of it"
