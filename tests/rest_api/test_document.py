"""The OpenAPI document, and every operation of it with requests that schemathesis makes up from it."""

import base64
import io
import itertools
import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from openapi_spec_validator import validate
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import FailureGroup
from schemathesis.core.transport import Response

from mcpist.aws import clients
from mcpist.errors import ConnectionRequired, to_message
from mcpist_services.definitions import ROUTE_NAMES
from rest_api import page
from scripts import rest_document as document
from tests.examples import examples
from tests.rest_api.rest_client import RestClient, handle

load_all_checks()
SCHEMA = schemathesis.openapi.from_dict(page.document())
OPERATIONS = {operation.ok().label: operation.ok() for operation in SCHEMA.get_all_operations()}
CONFORMANCE = CHECKS.get_by_names(
    ["status_code_conformance", "content_type_conformance", "response_schema_conformance"]
)
EXAMPLES = examples(6, quick=3)  # for each operation, of requests that fit the document and of others


@pytest.fixture
def administrator(rest: RestClient) -> RestClient:
    """An administrator's program; the broker knows no account."""

    def invoke(**_: Any) -> Any:
        error = to_message(ConnectionRequired(service="github", url=""))
        payload = io.BytesIO(json.dumps({"error": error}).encode())
        answer = {"Payload": payload, "ResponseMetadata": {"RequestId": "i1"}}
        return type("Response", (), {"status_code": 200}), answer

    clients.session().register("before-call.lambda.Invoke", invoke)
    return rest.of("ada")


def test_the_document_is_valid_openapi_and_that_of_the_routes(rest: RestClient) -> None:
    served = rest.of(None).get("/v1/openapi.json").json
    validate(served)
    assert served["openapi"].startswith("3.1")
    assert served["servers"] == [{"url": "https://mcp.example.com"}]
    assert page.FILE.read_text("utf-8") == document.generate()


def test_no_module_is_named_like_an_address() -> None:
    paths = [path.split("/") for path in page.document()["paths"]]
    parents = [path[:-1] for path in paths if path[-1] in {"{service}", "{name}"}]
    beside = {path[-1] for path in paths if path[:-1] in parents and "{" not in path[-1]}
    # Names of tools have a dot.
    assert beside == {"call", "confirm", "kill", "search"}
    assert {"confirm", "kill"} <= ROUTE_NAMES


def test_every_operation_is_named_tagged_and_may_answer_with_our_error() -> None:
    names = []
    for method, _, operation in page.operations(page.document()):
        names.append(operation["operationId"])
        assert operation["tags"]
        keys = [one for one in operation.get("parameters", ()) if one["name"] == "Idempotency-Key"]
        assert len(keys) == ("422" in operation["responses"]) == (method != "get")
        assert operation["description"]
        assert "default" not in operation["responses"]
        assert {"400", "401", "403", "429", "500", "503"} <= operation["responses"].keys()
    assert len(set(names)) == len(names)


@pytest.mark.slow
@pytest.mark.parametrize("label", OPERATIONS)
@pytest.mark.parametrize("mode", GenerationMode)
def test_every_operation_answers_any_request_as_the_document_says(
    administrator: RestClient, label: str, mode: GenerationMode
) -> None:
    operation = OPERATIONS[label]

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), database=None)
    @given(case=operation.as_strategy(generation_mode=mode))
    def answers(case: Any) -> None:
        response = send(administrator, case)
        error = json.loads(response.content or b"{}") if response.status_code >= 400 else {}
        assert error.get("code") not in {"INTERNAL_ERROR", "INTEGRITY_ERROR"}, (case, error)
        case.validate_response(response, checks=CONFORMANCE)

    answers()


@pytest.mark.slow
@pytest.mark.parametrize("label", [label for label in OPERATIONS if not label.startswith("GET")])
def test_every_writing_operation_answers_a_repeated_request_as_the_first_time(
    administrator: RestClient, label: str
) -> None:
    keys = (f"{label} {number}" for number in itertools.count())

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), database=None)
    @given(case=OPERATIONS[label].as_strategy(generation_mode=GenerationMode.POSITIVE))
    def answers(case: Any) -> None:
        case.headers = {**(case.headers or {}), "Idempotency-Key": next(keys)}
        first, again = send(administrator, case), send(administrator, case)
        case.validate_response(again, checks=CONFORMANCE)
        if first.status_code < 400:
            is_secret = first.headers.get("cache-control") == ["no-store"]
            replayed = (409, None) if is_secret else (first.status_code, ["true"])
            assert (again.status_code, again.headers.get("idempotency-replayed")) == replayed
            assert is_secret or again.content == first.content
            case.query = {**(case.query or {}), "wait": "1"}
            assert send(administrator, case).status_code == 422
        else:
            assert "idempotency-replayed" not in again.headers

    answers()


def test_an_answer_of_another_shape_would_be_seen(administrator: RestClient) -> None:
    case = OPERATIONS["GET /v1/roles"].Case()
    response = send(administrator, case)
    response.content = b'{"roles": "fine"}'
    with pytest.raises(FailureGroup):
        case.validate_response(response, checks=CONFORMANCE)


def send(client: RestClient, case: Any) -> Response:
    """Send a case to the handler, as API Gateway would after it has decoded the path."""
    prepared = requests.Request(**case.as_transport_kwargs(base_url="https://mcp.example.com")).prepare()
    url = urlsplit(str(prepared.url))
    event = client.event(str(prepared.method), unquote(url.path))
    query = dict(parse_qsl(url.query, keep_blank_values=True))
    event |= {"rawQueryString": url.query, "queryStringParameters": query}
    own = {"authorization": event["headers"]["authorization"]}
    event["headers"] = {name.lower(): str(value) for name, value in prepared.headers.items()} | own
    if isinstance(prepared.body, bytes):
        event |= {"body": base64.b64encode(prepared.body).decode(), "isBase64Encoded": True}
    else:
        event["body"] = prepared.body
    answer = handle(event)
    headers = {name: [value] for name, value in answer.headers.items()}
    return Response(answer.status, headers, answer.text.encode(), prepared, elapsed=0.0, verify=True)
