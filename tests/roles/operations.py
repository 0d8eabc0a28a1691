"""Recorded requests as the operations and parameters of botocore's models of AWS."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote

from botocore.loaders import create_loader
from botocore.model import OperationModel, ServiceModel
from botocore.validate import ParamValidator

from tests.traffic import AwsRequest

# The services whose name in a signature is not that of their model.
MODEL_NAMES = {"states": "stepfunctions"}
PLACES = {"querystring", "header"}
TYPES: dict[str, Callable[[str], Any]] = {"integer": int, "long": int, "boolean": "true".__eq__}


@dataclass(frozen=True, slots=True)
class Operation:
    """One request, whatever its wire format."""

    service: str
    """The service's name in the signature and in IAM's actions."""
    name: str
    parameters: Mapping[str, Any]

    def errors(self) -> str:
        """Return what AWS's model says against the parameters; empty if nothing."""
        shape = _operation_model(self.service, self.name).input_shape
        report: str = ParamValidator().validate(self.parameters, shape).generate_report() if shape else ""
        return report


@cache
def model(service: str) -> ServiceModel:
    """Return botocore's model of a service."""
    name = MODEL_NAMES.get(service, service)
    # Of a loader of its own: botocore's clients change the descriptions that they share.
    return ServiceModel(create_loader().load_service_model(name, "service-2"), service_name=name)


def operation_of(request: AwsRequest) -> Operation:
    """Return the operation of a request; fail if AWS has none like it."""
    if model(request.service).metadata["protocol"] == "json":
        return Operation(request.service, request.operation, request.body)
    method, _, address = request.request_line.partition(" ")
    path, _, query = address.partition("?")
    sent = {"querystring": dict(parse_qsl(query, keep_blank_values=True)), "header": request.headers}
    fitting = [
        (len(address.literals) + len(address.required), name, matched)
        for name, address in _addresses(request.service).items()
        if address.method == method
        and (matched := address.path.fullmatch(path))
        and address.literals.items() <= sent["querystring"].items()
        and all(member in sent[place] for place, member in address.required)
    ]
    assert fitting, request.request_line
    _, name, matched = max(fitting, key=lambda one: one[0])
    parameters = {member: unquote(value) for member, value in matched.groupdict().items()}
    return Operation(
        request.service, name, parameters | dict(_elsewhere(_operation_model(request.service, name), sent))
    )


@dataclass(frozen=True, slots=True)
class _Address:
    """Where an operation of a REST service is found."""

    method: str
    path: re.Pattern[str]
    literals: Mapping[str, str]
    """The query parameters that tell it from others."""
    required: frozenset[tuple[str, str]]
    """The parameters in the query or in headers without which it is another operation."""


@cache
def _addresses(service: str) -> dict[str, _Address]:
    return {name: _address(_operation_model(service, name)) for name in model(service).operation_names}


def _address(operation: OperationModel) -> _Address:
    path, _, query = operation.http["requestUri"].partition("?")
    pattern = re.sub(r"\\\{(\w+)(\\\+)?\\\}", lambda m: f"(?P<{m[1]}>{'.+' if m[2] else '[^/]+'})", re.escape(path))
    shape = operation.input_shape
    places = [shape.members[name].serialization for name in shape.required_members] if shape else []
    required = {(place["location"], place["name"]) for place in places if place.get("location") in PLACES}
    literals = dict(parse_qsl(query, keep_blank_values=True))
    return _Address(
        operation.http["method"],
        re.compile(pattern),
        literals,
        frozenset((place, name.lower() if place == "header" else name) for place, name in required),
    )


def _elsewhere(operation: OperationModel, sent: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, Any]]:
    """Yield the parameters in the query and in headers."""
    for member, shape in operation.input_shape.members.items() if operation.input_shape else ():
        place, name = shape.serialization.get("location"), shape.serialization.get("name", "")
        value = sent.get(place, {}).get(name.lower() if place == "header" else name)
        if value is not None:
            yield member, TYPES.get(shape.type_name, str)(value)


def _operation_model(service: str, name: str) -> OperationModel:
    return model(service).operation_model(name)
