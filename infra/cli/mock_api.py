"""`mcpist api mock`: a server on this machine that answers as an API's description says, to try an import on.

What is created is listed, got and deleted afterwards; all else that it answers are samples.
"""

import json
import re
import signal
import sys
import threading
from collections.abc import Mapping
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from infra.cli.mock_items import Collections
from mcpist.strict_json import json_object
from mcpist_services.described.account_rule import Security
from mcpist_services.described.answers import JSON_TYPE
from mcpist_services.described.description import Description, Operation
from mcpist_services.described.effects import propose_security
from mcpist_services.described.samples import sample
from mcpist_services.described.schemas import Schemas


class MockApi:
    """The operations of a description, each with a sample of its answer; any key is accepted, but one is needed.

    It is needed where the description has it, unless `security` says otherwise.
    """

    def __init__(self, description: Description, security: Security | None = None) -> None:
        self.base = _base(description)
        self._strict = False
        self.collections = Collections(description.operations)
        self._schemas = Schemas(description, answers=True)
        self._security = security or propose_security(description, list(description.operations))[1]
        # A path without a parameter wins over a template that fits it, too.
        by_parameters = sorted(description.operations, key=lambda one: one.path.count("{"))
        self._routes = [(operation, re.compile(self.base + _pattern(operation))) for operation in by_parameters]

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        """Return the status and the JSON of an answer."""
        parts = urlsplit(target)
        fitting = [operation for operation, pattern in self._routes if pattern.fullmatch(parts.path)]
        document = str(json_object(body).get("query") or "")
        fits = (one for one in fitting if one.method == method and one.document in {"", document})
        found = next(fits, None)
        if found is None:
            return (405 if fitting else 404), {"message": f"the description has no {method} {parts.path}"}
        if not _has_credential(self._security, headers, parse_qs(parts.query)):
            return 401, {"message": "a credential is needed"}
        if problem := _missing(found, parse_qs(parts.query), body):
            return 400, {"message": problem}
        status, sampled = self.sample(found)
        kept = self.collections.use(found, parts.path, sampled, strict=self._strict)
        return (status, sampled) if kept else (404, {"message": f"there is no {parts.path}"})

    def begin_strictly(self) -> None:
        """Forget all items; from now on there is none that was not created or listed before."""
        self._strict = True
        self.collections.forget()

    def sample(self, operation: Operation) -> tuple[int, Any]:
        """Return the status and a sample of an operation's answer."""
        codes = sorted(code for code in operation.responses if code[:1] == "2")
        status = int(codes[0]) if codes and codes[0].isdigit() else 200
        content = operation.success.get("content") or {}
        media = next((content[kind] for kind in content if JSON_TYPE.match(kind)), None)
        if media is None:
            return status, None
        if isinstance(example := media.get("example"), dict | list):
            return status, deepcopy(example)
        made = sample(self._schemas.convert(media.get("schema")), self._schemas.shared, optional=True)
        return status, deepcopy(made)  # its parts may be the schema's own


def serve(description: Description, port: int) -> None:
    """Serve a description on loopback until SIGINT or SIGTERM; print each request."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with ThreadingHTTPServer(("127.0.0.1", port), _handler(MockApi(description))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}{_base(description)}"
        print(f"serving {description.title} at {url}", file=sys.stderr, flush=True)
        stop.wait()
        server.shutdown()


def _handler(mock: MockApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, answer = mock.answer(self.command, self.path, headers, body)
            content = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            said = body[:200].decode(errors="replace")
            print(f"{status} {self.command} {urlsplit(self.path).path} {said}", flush=True)

        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Print nothing else."""

    return Handler


def _pattern(operation: Operation) -> str:
    """Return the pattern of an operation's path; a parameter of several segments is what its own pattern fits."""
    wide = {one["name"]: one.get("schema") or {} for one in operation.parameters if one.get("x-multi-segment")}
    parts = re.split(r"{([^{}]*)}", operation.path.partition("#")[0])
    for place, part in enumerate(parts):
        own = str(wide[part].get("pattern", ".+")) if part in wide else "[^/]+"
        parts[place] = f"({own.removeprefix('^').removesuffix('$')})" if place % 2 else re.escape(part)
    return "".join(parts)


def _base(description: Description) -> str:
    """Return the path before the operations' paths."""
    return urlsplit(description.servers[0]).path if description.servers else ""


def _has_credential(security: Security, headers: Mapping[str, str], query: Mapping[str, Any]) -> bool:
    match security.kind:
        case "none":
            return True
        case "query":
            return security.parameter in query
        case "header":
            return security.parameter.lower() in headers
    return headers.get("authorization", "").lower().startswith(f"{security.kind} ")


def _missing(operation: Operation, query: Mapping[str, Any], body: bytes) -> str:
    """Return the problem of a request that lacks something; empty where there is none."""
    needed = [one["name"] for one in operation.parameters if one.get("in") == "query" and one.get("required")]
    absent = [name for name in needed if name not in query and not any(key.startswith(f"{name}[") for key in query)]
    if absent:
        return f"the query lacks {absent[0]}"
    return "it needs a body" if operation.body.get("required") and not body else ""
