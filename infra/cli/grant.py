"""`mcpist grant`: the accounts that are connected: see, connect and take them away, and seal them anew.

The broker does it, and checks who asks: by the access token that the command is given, whatever AWS would allow.
"""

import argparse
import sys
import webbrowser
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from infra.cli.account import organization, stack
from infra.cli.document import CommandError, CommandResult
from infra.cli.endpoint import last_up
from infra.cli.table import render_table
from mcpist.running import broker
from mcpist.settings import settings

# An invocation of the broker ends after 29 s; what takes away is not asked twice without a look at the answer.
BROKER_TIMEOUT_SECONDS = 32.0
_GRANT_COLUMNS = ("owner", "services", "account_name", "works", "updated_at")
_REVOCATION_COLUMNS = ("owner", "provider", "account_name", "at_provider", "deleted", "forgotten_by")


def manage_grants(options: argparse.Namespace) -> CommandResult:
    """Do one of the actions."""
    actions = {
        "list": _list,
        "connect": _connect,
        "revoke": _revoke,
        "kill": _kill,
        "reencrypt": _reencrypt,
    }
    with stack(options.stack, options.profile, options.region):
        return actions[options.action](options)


def _list(options: argparse.Namespace) -> CommandResult:
    rows: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = _ask(options, "list", **_named(options), cursor=cursor)
        rows += page["grants"]
        cursor = page["cursor"] or None
    return CommandResult(metadata={"grants": rows}, drawing=_table(_GRANT_COLUMNS, rows))


def _connect(options: argparse.Namespace) -> CommandResult:
    if options.key is None:
        named = _given(organization=organization(options), role=options.role)
        url = f"{settings().connect_url(options.service)}?{urlencode(named)}"
        if options.open:
            webbrowser.open(url)
        return CommandResult([url], drawing=f"Open {url}")
    key = _key(options.key)
    told = _ask(options, "paste", service=options.service, key=key, **_given(role=options.role))
    if told["outcome"] == "asks":
        if not options.replace:
            raise CommandError(_question(told))
        told = _ask(options, "confirm", question=told["question"], agreed=True)
    return CommandResult(metadata=told, drawing=f"{told['service']}: {told['outcome']}")


def _revoke(options: argparse.Namespace) -> CommandResult:
    told = _ask(options, "revoke", service=options.service, **_given(role=options.role))
    proof = [told["proof"]] if told["proof"] else []
    stays = f"the connection stays for {', '.join(told['kept'])}" if told["kept"] else "nothing was connected"
    return CommandResult(metadata=told, drawing=_table(_REVOCATION_COLUMNS, proof) if proof else stays)


def _kill(options: argparse.Namespace) -> CommandResult:
    """Ask until nothing stands any more, or nothing goes away."""
    killed: list[dict[str, Any]] = []
    dropped, more, goes_on = 0, True, True
    while more and goes_on:
        told = _ask(options, "kill", **_named(options), **({"everything": True} if options.everything else {}))
        gone = [proof for proof in told["killed"] if proof["deleted"]]
        killed += gone
        dropped += told["dropped"]
        more, goes_on = told["more"], bool(gone or told["dropped"])
    facts = {"killed": killed, "dropped": dropped}
    if more:
        message = "Some connections are still there: they changed again and again."
        raise CommandError({"code": "CONFLICT", "message": message, "hint": "Run it again.", "details": facts})
    return CommandResult(
        metadata=facts, drawing=_table(_REVOCATION_COLUMNS, killed) + f"\n{dropped} begun connections dropped"
    )


def _reencrypt(options: argparse.Namespace) -> CommandResult:
    resealed, failed = 0, []
    cursor: str | None = options.cursor
    while cursor is not None:
        told = _ask(options, "reencrypt", cursor=cursor)
        resealed += told["resealed"]
        failed += told["failed"]
        cursor = told["cursor"] or None
    facts = {"resealed": resealed, "failed": failed}
    if failed:
        message = f"{len(failed)} connections could not be sealed anew."
        hint = "Connect them again, or run it again where a store was down; keep the former key until then."
        raise CommandError({"code": failed[0]["code"], "message": message, "hint": hint, "details": facts})
    return CommandResult(metadata=facts, drawing=f"{resealed} connections sealed anew")


def _ask(options: argparse.Namespace, operation: str, **fields: Any) -> dict[str, Any]:
    """The broker's answer to the person whose token it is."""
    named = organization(options)
    proof = {"kind": "jwt", "value": options.token or _token(options)}
    message = {"operation": operation, "proof": proof, "organization": named, **fields}
    return broker.invoke(message, seconds=BROKER_TIMEOUT_SECONDS, attempts=1)


def _token(options: argparse.Namespace) -> str:
    """Of the last `up`: its administrator's for what only one may do, else its user's."""
    if options.stack or options.profile or options.region:
        hint = "Give --token: an access token of the person who does it."
        raise CommandError({"code": "AUTHENTICATION_ERROR", "message": "No access token was given.", "hint": hint})
    own = options.action in {"connect", "revoke"} and not options.role
    name = "access_token" if own else "administrator_token"
    return str(last_up("give --token")[name])


def _named(options: argparse.Namespace) -> dict[str, str]:
    """Which grants are meant."""
    return _given(user=options.user, role=options.role, service=options.service)


def _given(**fields: str | None) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}


def _key(source: str) -> str:
    """A key never stands on a command line, where every process of the machine could read it."""
    if source != "-":
        hint = "Write --key - and give the key on standard input."
        raise CommandError(
            {"code": "VALIDATION_ERROR", "message": "A key is read from standard input only.", "hint": hint}
        )
    return sys.stdin.read().strip()


def _question(told: dict[str, Any]) -> dict[str, Any]:
    old, new = told["old"], told["new"]
    facts = {"reasons": told["reasons"], "old": old, "new": new}
    says = f"{told['service']} would be connected as {new['name']}"
    says += f" in the place of {old['name']}." if old else f", a person's account, for the role {told['role']}."
    return {"code": "CONFLICT", "message": says, "hint": "If that is meant, add --replace.", "details": facts}


def _table(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    return render_table(
        [name.replace("_", " ") for name in columns], [[_cell(name, row[name]) for name in columns] for row in rows]
    )


def _cell(name: str, value: Any) -> str:
    if name in {"updated_at", "forgotten_by"}:
        return datetime.fromtimestamp(value, UTC).isoformat(timespec="seconds")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)
