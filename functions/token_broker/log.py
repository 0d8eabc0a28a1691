"""The log: one line in and one line out for each message; never a token, a proof, a header or a body."""

import logging
import time
import traceback
from pathlib import Path
from typing import Any

from aws_lambda_powertools import Logger

from mcpist.aws.clients import AwsError
from mcpist.errors import DefectError, InternalError, McpistError
from token_broker.message import OPERATIONS, Message

logger = Logger()

# At DEBUG these print requests and answers, and KMS answers with data keys in the clear.
for _library in ("boto3", "botocore", "urllib3", "httpx", "httpcore"):
    logging.getLogger(_library).setLevel(logging.WARNING)


class MessageLog:
    """What the log says about one message."""

    def __init__(self, request_id: str, event: Any) -> None:
        named = event.get("operation") if isinstance(event, dict) else None
        self.fields: dict[str, Any] = {"request_id": request_id}
        self.began = time.monotonic()
        logger.info("asked", extra=self.fields | {"operation": named if named in OPERATIONS else "unknown"})

    def add(self, message: Message) -> None:
        """Quote only what passed the models."""
        one = getattr(message, "service", None) or getattr(message, "provider", None)
        services = getattr(message, "services", None) or tuple(filter(None, [one]))
        self.fields |= {"operation": message.operation, "organization": message.organization, "services": services}

    def end(self, answer: dict[str, Any], error: Exception | None = None) -> dict[str, Any]:
        """Write how it ended, and hand the answer through."""
        ours = error is None or isinstance(error, McpistError)
        code = "OK" if error is None else error.code if isinstance(error, McpistError) else InternalError.code
        milliseconds = round((time.monotonic() - self.began) * 1000)
        fields = self.fields | {"outcome": code, "milliseconds": milliseconds} | ({} if ours else _defect_fields(error))
        write = logger.info if ours and not isinstance(error, DefectError) else logger.error
        write("answered", extra=fields)
        return answer


def _defect_fields(defect: Exception | None) -> dict[str, Any]:
    """What a defect is and where it arose, without its words: they may quote what it failed on."""
    frames = traceback.extract_tb(defect.__traceback__ if defect else None)
    return {
        "defect": type(defect).__name__,
        "aws_code": defect.code if isinstance(defect, AwsError) else None,
        "frames": [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames],
    }
