"""Previews for the question about a batch: what the references of its destructive steps stand for now.

The steps that they refer to are read once for the question, and again when the batch runs: only reads that the caller
may make anyway, that refer to nothing themselves, and a few of them. A list may have changed until the batch runs.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn

from mcpist.batch.language.references import EACH, EachElement, StepResult, find_references, resolve
from mcpist.batch.language.steps import Step
from mcpist.errors import InvalidRequest, McpistError
from mcpist.running import gate
from mcpist.running.confirmation import DestructiveUse, TargetPreview
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.tool import Tool

MAX_PREVIEW_READS = 3
# Of all reads together: a person and a client wait for the question.
MIN_PREVIEW_SECONDS, MAX_PREVIEW_SECONDS = 1.0, 6.0
MAX_PREVIEW_ELEMENTS = 20


def with_previews(
    destructive: Iterable[DestructiveUse],
    runs: Iterable[tuple[Step, Tool]],
    permissions: Permissions,
    request: str,
    seconds: float,
) -> list[DestructiveUse]:
    """Return the steps with what their references stand for now, where that can be read."""
    uses, steps = list(destructive), {step.id: (step, tool) for step, tool in runs}
    named = dict.fromkeys(name for use in uses for name in _sources(use))
    readable = [name for name in named if name in steps and _is_plain_read(*steps[name])]
    deadline, results = time.monotonic() + min(MAX_PREVIEW_SECONDS, seconds / 2), {}
    for name in readable[:MAX_PREVIEW_READS]:
        if (rest := deadline - time.monotonic()) < MIN_PREVIEW_SECONDS:
            break
        step, tool = steps[name]
        use = gate.ToolUse(step.module, step.tool, step.params, request)
        with suppress(McpistError):  # the question then says that it is not known
            raw = gate.admit(permissions, use).run(rest).json
            results[name] = StepResult(raw, tool.shows, _refuse_file)
    return [replace(use, preview=_preview(use, results)) for use in uses]


def _preview(use: DestructiveUse, results: Mapping[str, StepResult]) -> TargetPreview | None:
    """Return the values of a step's references; None if it has none, or if one of them cannot be resolved."""
    sources = set(_sources(use))
    if not sources or not sources <= results.keys():
        return None
    try:
        if not use.each:
            return TargetPreview([_targets(use, results, None)])
        values = resolve(use.each, results.__getitem__, "each")
        if not isinstance(values, list):
            return None
        shown = [_targets(use, results, value) for value in values[:MAX_PREVIEW_ELEMENTS]]
        return TargetPreview(shown, len(values))
    except McpistError:
        return None


def _targets(use: DestructiveUse, results: Mapping[str, StepResult], element: Any) -> Any:
    """Return a step's params with the values of their references; `element` is that of its list."""
    return resolve(dict(use.targets), lambda name: EachElement(element) if name == EACH else results[name])


def _sources(use: DestructiveUse) -> Iterator[str]:
    """Yield the ids of the steps that a step refers to."""
    for value in (use.each, dict(use.targets)):
        yield from (reference.step for reference in find_references(value) if reference.step != EACH)


def _is_plain_read(step: Step, tool: Tool) -> bool:
    """Whether a step only reads, reveals no secret, and waits for nothing."""
    written: Any = [step.params, step.when]
    return tool.reads and not tool.reveals and not step.each and not step.when and not find_references(written)


def _refuse_file() -> NoReturn:
    raise InvalidRequest(field="params", problem="the file is stored when the batch runs")
