"""Starting a batch: the ledger first, then its machine."""

import json
import secrets
import time
from dataclasses import replace

from mcpist import broker
from mcpist.batch import ledger
from mcpist.batch.machine import TYPE, Machine, machine
from mcpist.batch.plan import Plan
from mcpist.batch.records import Entry, Header
from mcpist.caller import Caller
from mcpist.errors import UpstreamUnavailable
from mcpist.settings import settings
from mcpist.sieve import Sieve
from mcpist.stores import client, reaching, refused

CLOSES_SECONDS = 300
START_ATTEMPTS = 5
START_PAUSE_SECONDS = 0.2


def start(plan: Plan, sieve: Sieve) -> Header:
    """Write the batch into the ledger and start its machine; raises before anything runs."""
    made = machine(plan.graph, settings().step_runner)
    now = time.time()
    head = _header(plan, sieve.caller, now)
    services = {service for tool in plan.tools if (service := sieve.catalogue.module(tool.module).service)}
    if services:
        sealed = broker.warrant(sieve.caller, services, expires_at=int(head.closes_at) + CLOSES_SECONDS)
        head = replace(head, warrant=sealed)
    ledger.write(head, _entries(plan))
    _execute(made, head)
    return head


def _header(plan: Plan, caller: Caller, now: float) -> Header:
    batch = f"b_{secrets.token_hex(8)}"
    return Header(
        pk=ledger.partition(caller.organization, batch),
        organization=caller.organization,
        batch=batch,
        user=caller.user,
        issuer=caller.subject.issuer,
        sub=caller.subject.sub,
        roles=caller.role_names,
        warrant="",
        ids=tuple(step.id for step in plan.steps),
        needs=plan.graph.needs,
        started_at=now,
        closes_at=now + CLOSES_SECONDS,
    )


def _entries(plan: Plan) -> list[Entry]:
    return [
        Entry(
            index=index,
            id=step.id,
            module=step.module,
            tool=step.tool,
            effect=tool.effect,
            params=step.params,
            output=step.output,
            raw_output=step.raw_output,
        )
        for index, (step, tool) in enumerate(zip(plan.steps, plan.tools, strict=True))
    ]


def _execute(made: Machine, head: Header) -> None:
    """Start the machine; the first batch of a shape creates it."""
    name = made.name(settings().stack, settings().machines_role)
    arn = _arn(name)
    if _started(arn, head):
        return
    with reaching("Step Functions"):
        client("stepfunctions").create_state_machine(
            name=name,
            definition=made.definition_json,
            roleArn=settings().machines_role,
            type=TYPE,
        )
    for attempt in range(START_ATTEMPTS):  # a new machine is eventually consistent
        time.sleep(START_PAUSE_SECONDS * attempt)
        if _started(arn, head):
            return
    raise UpstreamUnavailable(service="Step Functions", problem="the batch's machine did not start")


def _started(arn: str, head: Header) -> bool:
    """Start an execution named after the batch; False where the machine does not exist yet."""
    try:
        with reaching("Step Functions"):
            client("stepfunctions").start_execution(
                stateMachineArn=arn, name=head.batch, input=json.dumps({"batch": head.pk})
            )
    except Exception as error:
        if refused(error, "StateMachineDoesNotExist"):
            return False
        raise
    return True


def _arn(name: str) -> str:
    """The machine's ARN, in the account and region of the function that it calls."""
    partition, _, region, account = settings().step_runner.split(":")[1:5]
    return f"arn:{partition}:states:{region}:{account}:stateMachine:{name}"
