"""Tracing: the time that the parts of an invocation take, as subsegments in X-Ray, if the setting is on.

A subsegment has a name, our annotations and the code of an error or the class of an exception: no argument, no result
and no message of an exception. The decorators of powertools and the context managers of its SDK are not used, since
they record exceptions' messages.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

from mcpist.errors import McpistError
from mcpist.settings import settings

_NOT_RECORDED = nullcontext()


def span(name: str, **annotations: str) -> AbstractContextManager[None]:
    """Record the time that the block takes."""
    return _recorded(name, annotations) if settings().tracing else _NOT_RECORDED


@contextmanager
def _recorded(name: str, annotations: Mapping[str, str]) -> Iterator[None]:
    recorder = _recorder()
    subsegment = recorder.begin_subsegment(name)
    try:
        annotate(**annotations)
        yield
    except BaseException as error:
        subsegment.add_fault_flag()
        annotate(code=error.code if isinstance(error, McpistError) else type(error).__name__)
        raise
    finally:
        recorder.end_subsegment()


def annotate(**annotations: str) -> None:
    """Add annotations to the innermost span; traces can be searched by them."""
    if settings().tracing:
        for name, value in annotations.items():
            _recorder().put_annotation(name, value)


@cache
def _recorder() -> Any:
    """Return X-Ray's recorder; imported after a restore, since it opens a socket. It patches no library."""
    from aws_lambda_powertools import Tracer

    return Tracer(auto_patch=False).provider
