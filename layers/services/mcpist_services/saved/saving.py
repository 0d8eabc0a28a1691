"""Saving, showing and deleting of saved batches, as the module's tools ask for it.

They are checked against the catalogue as their caller sees it when they are saved.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mcpist.aws.attributes import json_bytes
from mcpist.batch.execution.found_steps import Saving
from mcpist.batch.execution.plan import Plan, plan, raise_problems
from mcpist.batch.execution.submission import find_own
from mcpist.batch.language.references import PARAM, find_references
from mcpist.batch.language.steps import Step, parse
from mcpist.batch.ledger import ledger
from mcpist.batch.saved import records
from mcpist.batch.saved.records import MODULE, SavedBatch, SavedBatches
from mcpist.caller import Caller
from mcpist.errors import (
    AlreadyExists,
    AuthorizationError,
    BatchNotFound,
    InvalidRequest,
    McpistError,
    PayloadTooLarge,
    UnknownStep,
    VersionChanged,
)
from mcpist.moments import utc_text
from mcpist.suggestions import nearest
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.bounded_schema import OverBudget, all_errors, schema_errors
from mcpist.tools.declare.call import OtherTools
from mcpist.tools.declare.tool import EFFECTS
from mcpist_services.saved import checking

MAX_SAVED_BATCHES = 200
"""Of an organization."""
MAX_SAVED_BYTES = 100_000
_TYPES = ("type", "enum", "const", "anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class SaveRequest:
    """A batch to save."""

    name: str
    description: str
    commands: list[Any] | str
    batch: str
    """The id of a batch whose lines it has instead."""
    parameters: dict[str, Any]
    answer: str
    """The id of the step whose answer it has; empty for the last with `output`."""
    roles: tuple[str, ...]
    replaces: int
    """The version that it replaces; 0 for a new one."""


def save(tools: OtherTools, deadline: float, request: SaveRequest) -> dict[str, Any]:  # noqa: ARG001 - a lookup's
    """Check a batch and save it; AlreadyExists for a name that is taken."""
    permissions: Permissions = tools.permissions
    caller, organization = permissions.caller, permissions.caller.organization
    old = _replaced(caller, request)
    _check_roles(caller, request, old)
    _check_parameters(request.parameters)
    steps = _steps_of(caller, request)
    planned = plan([_line(step) for step in steps], permissions, Saving(request.name, request.parameters))
    _check_use(planned, request.parameters)
    now = int(time.time())
    new = SavedBatch(
        name=request.name,
        owner=old.owner if old else caller.user,
        description=request.description,
        commands=[_line(step) for step in steps],
        parameters=request.parameters,
        answer=_answer_of(steps, request.answer),
        version=old.version + 1 if old else 1,
        saved_by=caller.user,
        saved_at=now,
        roles=request.roles,
        checked_at=now,
    )
    size = len(json_bytes([new.commands, new.parameters]))
    if size > MAX_SAVED_BYTES:
        raise PayloadTooLarge(size_bytes=size, limit_bytes=MAX_SAVED_BYTES)
    records.store(organization, _described(new, planned), old)
    if old:
        checking.tell_owner(organization, old, "")
    return _shown(_read(tools).find(caller, request.name))


def list_saved(tools: OtherTools, deadline: float, *, broken: bool) -> list[dict[str, Any]]:  # noqa: ARG001
    """Return the saved batches that a caller may use."""
    visible = _read(tools).of(tools.permissions.caller)
    return [_shown(one) for one in visible if one.problem or not broken]


def show(tools: OtherTools, deadline: float, name: str, version: int) -> dict[str, Any]:  # noqa: ARG001
    """Return a version of a saved batch."""
    caller: Caller = tools.permissions.caller
    present = _read(tools).find(caller, name)
    return _shown(records.read_version(caller, present, version or present.version))


def delete(tools: OtherTools, deadline: float, name: str) -> dict[str, str]:  # noqa: ARG001
    """Delete a saved batch; AuthorizationError for that of another person."""
    caller: Caller = tools.permissions.caller
    found = _read(tools).find(caller, name)
    if not found.is_editable_by(caller):
        raise AuthorizationError(name=f"{MODULE}.{name}")
    records.delete(caller.organization, found)
    return {"name": name, "state": "deleted"}


def _replaced(caller: Caller, request: SaveRequest) -> SavedBatch | None:
    """Return the version that a request replaces; None for a new name."""
    old = records.latest(caller.organization, request.name)
    if old is None:
        if len(records.read(caller.organization, fresh=True).by_name) >= MAX_SAVED_BATCHES:
            raise InvalidRequest(field="name", problem=f"an organization saves at most {MAX_SAVED_BATCHES} batches")
    elif not old.is_editable_by(caller) or (not request.replaces and not old.deleted_at):
        raise AlreadyExists(kind="saved batch", name=request.name)
    if request.replaces and request.replaces != (old.version if old else 0):
        raise VersionChanged(what=f"{MODULE}.{request.name}")
    return old


def _read(tools: OtherTools) -> SavedBatches:
    return records.read(tools.permissions.caller.organization, fresh=True)


def _check_roles(caller: Caller, request: SaveRequest, old: SavedBatch | None) -> None:
    """Refuse to share with roles that the caller does not have; those that it was shared with before may stay."""
    known = {*caller.role_names, *(old.roles if old else ())}
    if missing := next((role for role in request.roles if role not in known), None):
        problem = f'you do not have the role "{missing}" (yours: {nearest(missing, caller.role_names)})'
        raise InvalidRequest(field="roles", problem=problem)


def _check_parameters(parameters: Mapping[str, Any]) -> None:
    """Refuse a parameter whose schema is invalid or has no type, and a default that it does not admit."""
    for name, schema in parameters.items():
        place = f"parameters.{name}"
        if not name.isidentifier():
            raise InvalidRequest(field=place, problem="a name has letters, digits and _, and begins with no digit")
        if not any(keyword in schema for keyword in _TYPES):
            raise InvalidRequest(field=place, problem="it says no type, such as string")
        try:
            wrong = schema_errors(schema) or ("default" in schema and all_errors(schema, schema["default"]))
        except (OverBudget, RecursionError):
            raise InvalidRequest(field=place, problem="its schema takes too long to check") from None
        if wrong:
            raise InvalidRequest(field=place, problem=wrong[0].message[:300])


def _steps_of(caller: Caller, request: SaveRequest) -> list[Step]:
    """Return the steps of a request; InvalidBatch says all that is wrong with its lines."""
    if bool(request.commands) == bool(request.batch):
        raise InvalidRequest(field="commands", problem="give commands, or the id of a batch of yours")
    commands: Any = request.commands
    if request.batch:
        head = find_own(caller, request.batch)
        if head.user != caller.user:
            raise BatchNotFound(batch=request.batch)
        entries = sorted(ledger.get_entries(head.pk), key=lambda entry: entry.step.line)
        commands = [entry.step.as_line() for entry in entries]
    problems: list[McpistError] = []
    steps = parse(commands, problems)
    raise_problems(problems)
    return steps


def _line(step: Step) -> dict[str, Any]:
    """Return a step as it is stored: with an id, whatever its place."""
    return {"id": step.id, **step.as_line()}


def _answer_of(steps: Sequence[Step], answer: str) -> str:
    if answer and answer not in (ids := [step.id for step in steps]):
        raise UnknownStep(field="answer", step=answer, known=nearest(answer, ids))
    returned = [step.id for step in steps if step.output or step.raw_output]
    return answer or (returned or [steps[-1].id])[-1]


def _check_use(planned: Plan, parameters: Mapping[str, Any]) -> None:
    """Refuse a parameter that no step refers to: it is perhaps misspelt."""
    used = {
        reference.keys[0]
        for step in planned.steps
        for reference in find_references([step.params, step.each, step.when])
        if reference.step == PARAM
    }
    if unused := next((name for name in parameters if name not in used), None):
        problem = f"no step refers to param.{unused}: perhaps it is misspelt"
        raise InvalidRequest(field=f"parameters.{unused}", problem=problem)


def _described(new: SavedBatch, planned: Plan) -> SavedBatch:
    """Return a saved batch with what its plan says of it."""
    tools = {step.id: tool for step, tool in zip(planned.steps, planned.tools, strict=True)}
    answer = planned.answers.get(new.answer, new.answer)
    return replace(
        new,
        effect=max((tool.effect for tool in planned.tools), key=EFFECTS.index),
        columns=tuple(tools[answer].shows.fields),
        tools=tuple(sorted({f"{tool.module}.{tool.name}" for tool in planned.tools})),
    )


def _shown(one: SavedBatch) -> dict[str, Any]:
    shown = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(one).items()}
    return {**shown, "saved_at": utc_text(one.saved_at)}
