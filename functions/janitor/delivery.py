"""Delivery of the audit: new rows, as the table's stream sends them, into the bucket of the stack's owner.

A batch is one object. Lambda sends a batch until it has been stored, in the order of the rows of a partition, and for
a day: https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html. A row may be delivered twice, with the same id.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mcpist.audit.ocsf import stored_as_ocsf_line
from mcpist.audit.rows import JSON_LINES
from mcpist.aws.clients import client, store_errors
from mcpist.settings import settings
from mcpist.telemetry import invocation


def deliver(records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Store the rows of a batch; StoreUnavailable or an AwsError if they cannot be, and the batch comes again."""
    rows = [record["dynamodb"]["NewImage"] for record in records]
    body = "".join(map(stored_as_ocsf_line, rows)).encode()
    with store_errors("audit export"):
        client("s3").put_object(
            Bucket=settings().audit_export, Key=object_key(records[0]), Body=body, ContentType=JSON_LINES
        )
    invocation.add_fields(delivered_rows=len(rows))
    return {"delivered_rows": len(rows)}


def object_key(record: Mapping[str, Any]) -> str:
    """Return the key of the object that begins with a record: its day, its time and its id, so a retry replaces it."""
    moment = re.sub(r"[^\w-]", "", record["dynamodb"]["Keys"]["sk"]["S"].partition("+")[0])
    return f"mcpist-audit/{moment[:10]}/{moment}-{record['eventID']}.jsonl"
