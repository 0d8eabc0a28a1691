"""A tool and its service, as a conversation: the Calls that it sends, and what it makes of the answers."""

from typing import Any

from mcpist.tools.declare.call import Call, Calls, ServiceResponse, Work
from mcpist.tools.declare.module import Module


def work_of(module: Module, tool: str, **arguments: Any) -> Work:
    """What a tool would do with these arguments."""
    found = module.tools[tool]
    return found.describe_work(found.validate(arguments))


def converse(work: Call | Calls, *answers: Any) -> tuple[list[Call], Any]:
    """All Calls of a tool that is answered like this, and what it returns.

    An answer is a ServiceResponse, the JSON of one, or the error that there is instead.
    """
    if isinstance(work, Call):
        (answer,) = answers
        return [work], answer
    sent, left = [next(work)], list(answers)
    while left:
        try:
            sent.append(_reply(work, left.pop(0)))
        except StopIteration as end:
            if isinstance(end.value, Call):
                (answer,) = left
                return [*sent, end.value], answer
            assert not left, "the tool asks for less"
            return sent, end.value
    raise AssertionError("the tool asks for more")


def _reply(calls: Calls, answer: Any) -> Call:
    if isinstance(answer, Exception):
        return calls.throw(answer)
    return calls.send(answer if isinstance(answer, ServiceResponse) else ServiceResponse(200, {}, answer))
