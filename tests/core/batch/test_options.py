"""The options of a batch: each door takes every one, and the ledger carries them."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel

from mcp_endpoint.arguments import INPUT_SCHEMAS, BatchArguments
from mcpist.aws.attributes import decode, encode
from mcpist.batch.ledger.records import Header
from mcpist.batch.options import DEFAULT_OPTIONS, BatchOptions, brief_schemas
from mcpist.caller import Subject
from rest_api.batch_view import BatchRequest, ResumeRequest

HEAD = Header("acme", "b_1", "uma", Subject("i", "s"), (), "", ("a",), (frozenset(),), 1.0, 2.0, 3.0)
COMMANDS: dict[str, Any] = {"commands": "{}"}


@pytest.mark.parametrize("request_model", [BatchArguments, BatchRequest, ResumeRequest])
def test_every_door_takes_all_options_and_passes_them_on_as_one_value(request_model: type[BaseModel]) -> None:
    assert BatchOptions.model_fields.keys() <= request_model.model_fields.keys()
    given = COMMANDS if "commands" in request_model.model_fields else {}
    asked: Any = request_model.model_validate({**given, "timeout": 60})
    assert asked.options == BatchOptions(timeout=60)


def test_a_header_carries_them_and_one_of_an_older_release_has_the_defaults() -> None:
    chosen = replace(HEAD, options=BatchOptions(timeout=60))
    assert decode(Header, encode(chosen)).options == BatchOptions(timeout=60)
    older = {name: value for name, value in encode(HEAD).items() if name != "options"}
    assert decode(Header, older).options == DEFAULT_OPTIONS


def test_a_model_reads_each_option_in_few_words() -> None:
    properties = INPUT_SCHEMAS["batch"]["properties"]
    assert properties["timeout"] == {"default": 900, "description": "10-3000 s", "type": "integer"}
    assert brief_schemas(properties) == properties
