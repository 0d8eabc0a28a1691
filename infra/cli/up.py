"""`mcpist up`: everything on this machine, until Ctrl-C."""

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import NoReturn

from infra.cli.account import TABLES
from infra.cli.document import Document, Done, Failed
from infra.cli.endpoint import LAST_UP
from infra.local.house import ADMINISTRATOR, ORGANIZATION, ROOT, USER, House, open_house
from infra.local.names import PSEUDO, STACK
from infra.local.stack import HandlerBroken, PortBusy, TemplateError
from mcpist.batch.machine.definition import own_name

NEXT = """\
ready: {mcp_url} waits for an MCP client, e.g. claude mcp add --transport http mcpist {mcp_url}
a call, from another shell: .venv/bin/mcpist call rag search_docs --params '{{"query": "token broker"}}'
a batch: .venv/bin/mcpist batch --watch examples/each.jsonl
accounts are connected on {connect_url}; Ctrl-C stops everything"""


def up(options: argparse.Namespace, document: Document) -> NoReturn:
    """Print one line when ready, then serve until the process is told to stop."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    docs = (options.docs or ROOT / "docs").resolve()
    if not docs.is_dir():
        hint = "Name a folder with --docs."
        raise Failed({"code": "FILE_NOT_FOUND", "message": f"{docs} is no folder", "hint": hint})
    if options.upstreams and not options.upstreams.is_file():
        hint = "Name a file like layers/config/upstreams.json with --upstreams."
        raise Failed({"code": "FILE_NOT_FOUND", "message": f"{options.upstreams} is no file", "hint": hint})
    chosen = {"AllowedOrigins": ",".join(options.allow_origin)}
    opening = open_house(
        host=options.host, port=options.port, docs=docs, upstreams=options.upstreams, parameters=chosen, say=_say
    )
    try:
        with opening as house, _remembered(house):
            document.succeed(Done(metadata=_facts(house)))
            _say(NEXT.format(mcp_url=house.mcp_url, connect_url=house.connect_url))
            stop.wait()
            _say("stopping")
    except PortBusy as error:
        hint = "Stop what uses the port, or choose another with --port."
        raise Failed({"code": "VALIDATION_ERROR", "message": str(error), "hint": hint}) from None
    except (HandlerBroken, TemplateError) as error:
        hint = "Correct it and start again."
        raise Failed({"code": "INTERNAL_ERROR", "message": str(error), "hint": hint}) from None
    sys.exit(0)


def _facts(house: House) -> dict[str, object]:
    return {
        "mcp_url": house.mcp_url,
        "api_url": house.aws.api_url,
        "connect_url": house.connect_url,
        "issuer": house.login.issuer,
        "access_token": house.token(),
        "administrator_token": house.token(ADMINISTRATOR),
        "organization": ORGANIZATION,
        "user": USER.sub,
        "documents": house.documents,
        "upstreams": str(house.upstreams),
        "aws": house.aws.environment,
        "stack": {
            "STACK_NAME": own_name(PSEUDO["AWS::StackId"]),
            "PUBLIC_URL": house.aws.api_url,
            **{variable: house.aws.resource(table) for variable, table in TABLES.items()},
            "TOKEN_BROKER": house.aws.resource("TokenBrokerFunction.Alias"),
        },
    }


def _deployment(house: House) -> dict[str, object]:
    """What CloudFormation and Lambda would tell of the stack."""
    template = house.aws.template
    tables, buckets, keys = ([one.id for one in some] for some in (template.tables, template.buckets, template.keys))
    return {
        "name": STACK,
        "parameters": dict(template.intrinsics.parameters),
        "resources": {id_: house.aws.resource(id_) for id_ in (*tables, *buckets, *keys, "TokenBrokerRole")},
        "environments": {one.id: {**one.environment, "UPSTREAMS": str(house.upstreams)} for one in template.functions},
    }


@contextlib.contextmanager
def _remembered(house: House) -> Iterator[None]:
    """Keep the facts for the other commands while the house stands; the file is for its owner alone."""
    LAST_UP.parent.mkdir(exist_ok=True)
    LAST_UP.unlink(missing_ok=True)
    with open(os.open(LAST_UP, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump({**_facts(house), "deployment": _deployment(house)}, file)
    try:
        yield
    finally:
        LAST_UP.unlink(missing_ok=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
