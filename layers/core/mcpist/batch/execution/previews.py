"""Previews for the question about a batch: what the references of its destructive steps stand for now.

The steps that they refer to are read once for the question, and again when the batch runs: only reads that the caller
may make anyway, that refer to nothing themselves, and a few of them. What another batch has read, which this one
resumes, is taken from there. A list may have changed until the batch runs: then it destroys only what was shown.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from mcpist.batch.execution.resume import Resumption
from mcpist.batch.execution.step_work import step_result
from mcpist.batch.language.references import EACH, EachElement, StepResult, find_references, resolve
from mcpist.batch.language.steps import Step, list_of
from mcpist.batch.ledger import ledger
from mcpist.errors import McpistError
from mcpist.running import gate
from mcpist.running.destructive_use import DestructiveUse, TargetPreview, quote
from mcpist.running.preview import preview
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.tool import Tool

MAX_PREVIEW_READS = 3
# Of all reads together: a person and a client wait for the question.
MIN_PREVIEW_SECONDS, MAX_PREVIEW_SECONDS = 1.0, 6.0
MAX_PREVIEW_ELEMENTS = 100
MAX_PREVIEWED_ELEMENTS = 20
"""Of a list, of which a dry run reads the targets."""
MAX_PREVIEW_TEXT_CHARACTERS = 20_000


def with_previews(
    destructive: Iterable[DestructiveUse],
    runs: Iterable[tuple[Step, Tool]],
    permissions: Permissions,
    request: str,
    seconds: float,
    resumption: Resumption | None = None,
) -> list[DestructiveUse]:
    """Return the steps with what their references stand for now and what they would change, where that can be read."""
    pairs, deadline = list(runs), _deadline(seconds)
    found = _resolved(destructive, pairs, permissions, request, deadline, resumption)

    def changed(use: gate.ToolUse, _: float) -> dict[str, dict[str, Any]]:
        return gate.changed_fields(gate.permit(permissions, use))

    shown = (_before(deadline, _first_uses(use, pairs, request), changed) for use in found)
    return [replace(use, differences=tuple(one or {} for one in each)) for use, each in zip(found, shown, strict=True)]


def _resolved(
    destructive: Iterable[DestructiveUse],
    runs: Iterable[tuple[Step, Tool]],
    permissions: Permissions,
    request: str,
    deadline: float,
    resumption: Resumption | None,
) -> list[DestructiveUse]:
    """Return the steps with what their references stand for now, where that is known or can be read."""
    uses, steps = list(destructive), {step.id: (step, tool) for step, tool in runs}
    lists = {use.id: resumption.pending_values(use.id) for use in uses if use.each} if resumption else {}
    named = dict.fromkeys(name for use in uses for name in _sources(use, lists.get(use.id)))
    readable = [name for name in named if name in steps and _is_plain_read(*steps[name])]
    results: dict[str, StepResult] = {}
    if resumption:
        results |= {name: found for name in named if (found := _known_result(name, resumption, permissions))}
    for name in readable[:MAX_PREVIEW_READS]:
        if (rest := deadline - time.monotonic()) < MIN_PREVIEW_SECONDS:
            break
        step, tool = steps[name]
        use = gate.ToolUse(step.module, step.tool, step.params, request, options=step.options)
        with suppress(McpistError):  # the question then says that it is not known
            raw = gate.admit(permissions, use, gate.CONFIRMED).run(rest).json
            # As the run has it: a yes for a file is for its content, which its reference names.
            results[name] = step_result(permissions.caller.organization, permissions.caller.user, step, raw, tool.shows)
    return [replace(use, preview=_preview(use, results, lists.get(use.id))) for use in uses]


def differences(
    runs: Iterable[tuple[Step, Tool]],
    permissions: Permissions,
    request: str,
    seconds: float,
    resumption: Resumption | None = None,
) -> list[dict[str, Any]]:
    """Return for each step that writes what it would change now: of a list, of its first elements, with their number.

    Steps whose references are not known yet, and those for which the time does not suffice, are left out.
    """
    pairs, deadline = [(step, tool) for step, tool in runs if not tool.reads], _deadline(seconds)
    writing = [DestructiveUse(step.module, step.tool, step.params, step.line, step.id, step.each) for step, _ in pairs]
    found: list[dict[str, Any]] = []
    for use in _resolved(writing, runs, permissions, request, deadline, resumption):
        uses = _first_uses(use, pairs, request)
        shown = [one for one in _before(deadline, uses, partial(preview, permissions)) if one]
        count = {} if use.preview is None or use.preview.count is None else {"count": use.preview.count}
        found += [{"id": use.id, **count, "calls": shown}] if shown else []
    return found


def _deadline(seconds: float) -> float:
    return time.monotonic() + min(MAX_PREVIEW_SECONDS, seconds / 2)


def _first_uses(use: DestructiveUse, runs: Iterable[tuple[Step, Tool]], request: str) -> list[gate.ToolUse]:
    """Return the first uses that a step would make now; none where its references are not known yet."""
    step = next(step for step, _ in runs if step.id == use.id)
    is_plain = not step.each and not find_references(step.params)
    targets = use.preview.targets if use.preview else [step.params] if is_plain else []
    return [
        gate.ToolUse(step.module, step.tool, target, request, options=step.options)
        for target in targets[:MAX_PREVIEWED_ELEMENTS]
    ]


def _before[Shown](
    deadline: float, uses: Iterable[gate.ToolUse], show: Callable[[gate.ToolUse, float], Shown]
) -> Iterator[Shown | None]:
    """Yield the answer of `show` for each use until the time is over; None where it fails, as the run then does."""
    for use in uses:
        if (rest := deadline - time.monotonic()) < MIN_PREVIEW_SECONDS:
            return
        try:
            yield show(use, rest)
        except McpistError:
            yield None


def _known_result(name: str, resumption: Resumption, permissions: Permissions) -> StepResult | None:
    """Return the result of a step that is not run again."""
    for entry in resumption.carried_entries.values():
        if entry.step.id == name and entry.result:
            shows = permissions.catalogue.shows(entry.step.module, entry.step.tool)
            raw, caller = ledger.load_json(resumption.old, entry.result), permissions.caller
            return step_result(caller.organization, caller.user, entry.step, raw, shows, entry.statuses)
    return None


def _preview(use: DestructiveUse, results: Mapping[str, StepResult], values: list[Any] | None) -> TargetPreview | None:
    """Return the values of a step's references; None if it has none, or if one of them cannot be resolved.

    `values` is the list that it runs over, where that is known already.
    """
    sources = set(_sources(use, values))
    if not sources <= results.keys() or not (sources or use.each):
        return None
    try:
        if not use.each:
            return TargetPreview([_targets(use, results, None)])
        if values is None:
            values = resolve(list_of(use.each), results.__getitem__, "each")
        if not isinstance(values, list):
            return None
        return TargetPreview(list(_fitting(_targets(use, results, value) for value in values)), len(values))
    except McpistError:
        return None


def _fitting(targets: Iterable[Any]) -> Iterator[Any]:
    """Yield the targets that a person can still read: some of them, and the first one however long."""
    left = MAX_PREVIEW_TEXT_CHARACTERS
    for number, target in enumerate(targets):
        left -= len(quote(target))
        if number and (left < 0 or number >= MAX_PREVIEW_ELEMENTS):
            return
        yield target


def _targets(use: DestructiveUse, results: Mapping[str, StepResult], element: Any) -> Any:
    """Return a step's params with the values of their references; `element` is that of its list."""
    return resolve(dict(use.targets), lambda name: EachElement(element) if name == EACH else results[name])


def _sources(use: DestructiveUse, values: list[Any] | None) -> Iterator[str]:
    """Yield the ids of the steps that a step refers to, but for its list where that is known."""
    for value in (use.each if values is None else "", dict(use.targets)):
        yield from (reference.step for reference in find_references(value) if reference.step != EACH)


def _is_plain_read(step: Step, tool: Tool) -> bool:
    """Whether a step only reads, reveals no secret, and waits for nothing."""
    written: Any = [step.params, step.when]
    return tool.reads and not tool.reveals and not step.each and not step.when and not find_references(written)
