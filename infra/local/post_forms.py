"""S3's POST: a form with a file, and with the policy of whoever signed it.

Reference: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html
"""

import http.client
import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from urllib.parse import quote, unquote

from werkzeug.formparser import parse_form_data

from infra.local.server import Request, Response

# Fields that no condition must name.
_UNCHECKED = {"policy", "x-amz-signature", "file"}


def is_post_form(request: Request) -> bool:
    """Return whether the request is a form for S3."""
    is_form = request.headers.get("content-type", "").startswith("multipart/form-data")
    return request.method == "POST" and is_form and b'name="policy"' in request.body[:65_536]


def put_of(request: Request) -> Request | Response:
    """Return the PutObject that a form means, or S3's refusal of what its policy does not allow."""
    environ = {**request.environ, "wsgi.input": BytesIO(request.body)}
    _, fields, files = parse_form_data(environ, stream_factory=lambda *_, **__: BytesIO())
    named = {name.lower(): value for name, value in fields.items()}
    content = files["file"].read() if "file" in files else b""
    bucket = unquote(request.path).strip("/")
    if problem := next(_problems(named, bucket, len(content)), None):
        body = f"<Error><Code>AccessDenied</Code><Message>Invalid according to Policy: {problem}</Message></Error>"
        return Response(403, (("content-type", "application/xml"),), body.encode())
    path = f"/{bucket}/{quote(named['key'])}"
    query = f"X-Amz-Credential={quote(named['x-amz-credential'], safe='')}&X-Amz-Signature=form"
    sent = {
        **{name: value for name, value in request.environ.items() if name != "HTTP_CONTENT_TYPE"},
        "REQUEST_METHOD": "PUT",
        "RAW_URI": f"{path}?{query}",
        "REQUEST_URI": f"{path}?{query}",
        "PATH_INFO": unquote(path),
        "QUERY_STRING": query,
        "CONTENT_TYPE": named.get("content-type", "binary/octet-stream"),
        "CONTENT_LENGTH": str(len(content)),
        "wsgi.input": BytesIO(content),
    }
    headers = http.client.HTTPMessage()
    headers["content-type"] = sent["CONTENT_TYPE"]
    return Request(sent, headers, content)


def _problems(fields: Mapping[str, str], bucket: str, size: int) -> Iterator[str]:
    """Yield what the policy does not allow: the end of its time, or a field other than its conditions say."""
    policy = json.loads(b64decode(fields["policy"]))
    if datetime.fromisoformat(policy["expiration"]) <= datetime.now(UTC):
        yield "Policy expired."
    sent = {**fields, "bucket": bucket}
    conditions = [_condition(one) for one in policy["conditions"]]
    for kind, name, value in conditions:
        if kind == "eq" and sent.get(name) != value:
            yield f"Policy Condition failed: eq {name}"
        if kind == "content-length-range" and not int(name) <= size <= int(value):
            yield "EntityTooLarge"
    extra = set(fields) - _UNCHECKED - {name for kind, name, _ in conditions if kind == "eq"}
    if extra:
        yield f"Extra input fields: {', '.join(sorted(extra))}"


def _condition(condition: Any) -> tuple[str, str, str]:
    """Return a condition as its kind, its field and its value."""
    if isinstance(condition, Mapping):
        ((name, value),) = condition.items()
        return "eq", name.lower(), str(value)
    kind, first, second = condition
    return kind, str(first).removeprefix("$").lower(), str(second)
