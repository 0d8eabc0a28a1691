"""The failure that a refused request becomes, for tests of core and of services."""

from typing import Any

from mcpist.running.refusals import Failure, failure, read_refusal
from mcpist.tools.declare.call import ServiceResponse
from mcpist.tools.declare.dialect import HTTP_STANDARD, Refusals


def refused(status: int, content: Any, refusals: Refusals = HTTP_STANDARD, **headers: str) -> Failure:
    """Return what a response means; `_` in a header's name stands for `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = ServiceResponse(status, named, content)
    refusal = read_refusal(response, refusals)
    assert refusal is not None
    return failure("shop", response, refusal, refusals=refusals)
