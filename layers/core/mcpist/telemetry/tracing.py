"""Tracing: where an invocation spends its time, as subsegments in X-Ray, if the stack is to be traced.

A subsegment has a name, annotations of ours and an error's code, or an exception's name: no argument, no result, no
words of an exception.
Neither the decorators of powertools nor the context managers of its SDK are used, since those keep exceptions' words.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from mcpist.errors import McpistError
from mcpist.settings import settings


@contextmanager
def span(name: str, **annotations: str) -> Iterator[None]:
    """Time what is done inside."""
    if not settings().tracing:
        yield
        return
    recorder = _recorder()
    part = recorder.begin_subsegment(name)
    try:
        annotate(**annotations)
        yield
    except BaseException as error:
        part.add_fault_flag()
        annotate(code=error.code if isinstance(error, McpistError) else type(error).__name__)
        raise
    finally:
        recorder.end_subsegment()


def annotate(**annotations: str) -> None:
    """Say something about the innermost span: it can be searched for."""
    if settings().tracing:
        for name, value in annotations.items():
            _recorder().put_annotation(name, value)


@cache
def _recorder() -> Any:
    """X-Ray's recorder, imported after a restore, since it opens its socket then; libraries stay as they are."""
    from aws_lambda_powertools import Tracer

    return Tracer(auto_patch=False).provider
