"""`mcpist grant`: list, connect and revoke accounts, encrypt them again, move them, and store the apps they need.

The token broker does the work, but for export and import, which open nothing, and identifies the person by the access
token. `app`, and `reencrypt`, `export` and `import`, for the rotation of keys and a move, need rights in AWS.
"""

import sys
import webbrowser
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from typer import Argument, Option

from infra.cli.document import CommandError, CommandResult
from infra.cli.grant_transfer import export_grants, import_grants
from infra.cli.options import OrganizationOption, Target, Token, command_group, given
from infra.cli.rest_client import Access, RestSession, part
from infra.cli.stacks import last_up
from infra.cli.stored_secrets import store_app
from infra.cli.table import render_table
from infra.cli.target import opened, organization_of
from mcpist.errors import ModuleNotFound
from mcpist.running import broker
from mcpist.suggestions import nearest

# An invocation of the broker ends after 29 s.
BROKER_TIMEOUT_SECONDS = 32.0
_GRANT_COLUMNS = ("owner", "label", "default", "services", "account_name", "works", "updated_at")
_REVOCATION_COLUMNS = ("owner", "label", "provider", "account_name", "at_provider", "deleted", "forgotten_by")


User = Annotated[str | None, Option(metavar="USER", help="Only this user's own accounts.")]
Role = Annotated[str | None, Option(metavar="ROLE", help="Only this role's accounts.")]
Service = Annotated[str | None, Option(metavar="SERVICE", help="Only accounts at this service's provider.")]
Account = Annotated[str | None, Option(metavar="LABEL", help="The label of one of several accounts.")]
ServiceArgument = Annotated[str, Argument(metavar="SERVICE")]

grant = command_group()


@grant.command("list")
def list_grants(access: Access, user: User = None, role: Role = None, service: Service = None) -> CommandResult:
    """List the connected accounts and their owners."""
    pages = access.session().pages("/v1/grants", user=user, role=role, service=service)
    rows = [one for page in pages for one in page["grants"]]
    return CommandResult(metadata={"grants": rows}, drawing=_table(_GRANT_COLUMNS, rows))


@grant.command("connect")
def connect(
    access: Access,
    service: ServiceArgument,
    role: Annotated[str | None, Option(metavar="ROLE", help="Connect it for every user with this role.")] = None,
    account: Account = None,
    key: Annotated[str | None, Option(metavar="-", help="Connect the key on standard input.")] = None,
    replace: Annotated[bool, Option("--replace", help="With --key: replace an account that is connected.")] = False,
    open_page: Annotated[bool, Option("--open", help="Open the page in a browser.")] = False,
) -> CommandResult:
    """Show the page that connects an account, or connect a key that you have made."""
    # An account of a role concerns all its users, so the administrator connects it.
    session = access.session(own=not role)
    # A consent needs a browser; only a key, which the person has made, can be stored from here.
    if key is None:
        known = session.get("/v1/connections")["services"]
        if service not in known:
            raise ModuleNotFound(module=service, known=nearest(service, known))
        whose = given(role=role or None, account=account)
        query = urlencode(given(organization=session.organization or _only_organization(session)) | whose)
        url = f"{session.url}/connect/{part(service)}?{query}"
        if open_page:
            webbrowser.open(url)
        return CommandResult([url], drawing=f"Open {url}")
    body: dict[str, Any] = {"service": service, "key": _read_key(key), "role": role, **given(account=account)}
    answer = session.request("POST", "/v1/grants", json=body)
    if answer["outcome"] == "asks":
        if not replace:
            raise _question(answer)
        body = {"question": answer["question"], "agreed": True}
        answer = session.request("POST", "/v1/grants/confirm", json=body)
    return CommandResult(metadata=answer, drawing=f"{answer['service']}: {answer['outcome']}")


@grant.command("revoke")
def revoke(
    access: Access,
    service: ServiceArgument,
    role: Annotated[str | None, Option(metavar="ROLE", help="Revoke the role's account.")] = None,
    account: Account = None,
) -> CommandResult:
    """Revoke your account, or a role's, and delete it."""
    session = access.session(own=not role)
    answer = session.request("DELETE", f"/v1/grants/{part(service)}", query={"role": role, "account": account})
    proof = [answer["proof"]] if answer["proof"] else []
    rest = f"the connection stays for {', '.join(answer['kept'])}" if answer["kept"] else "nothing was connected"
    return CommandResult(metadata=answer, drawing=_table(_REVOCATION_COLUMNS, proof) if proof else rest)


@grant.command("default")
def choose_default(
    access: Access,
    service: ServiceArgument,
    account: Annotated[str, Argument(metavar="LABEL", help="The label of the account, such as work or main.")],
    role: Annotated[str | None, Option(metavar="ROLE", help="Choose among the role's accounts.")] = None,
) -> CommandResult:
    """Choose which of your accounts, or a role's, acts unless a call names another."""
    body = {"account": account, "role": role}
    session = access.session(own=not role)
    answer = session.request("PUT", f"/v1/grants/{part(service)}/default", json=body)
    return CommandResult(metadata=answer, drawing=f"{service}: {answer['label']} ({answer['account_name']})")


@grant.command("kill")
def kill(
    access: Access,
    user: User = None,
    role: Role = None,
    service: Service = None,
    everything: Annotated[bool, Option("--everything", help="All accounts of the organization.")] = False,
) -> CommandResult:
    """Revoke and delete many accounts at once, with proof of each."""
    scope = given(user=user, role=role, service=service, everything=everything or None)
    killed: list[dict[str, Any]] = []
    dropped, more, progressed = 0, True, True
    session = access.session()
    # A round that ends nothing is the last: a grant that changes again and again would keep this going.
    while more and progressed:
        answer = session.request("POST", "/v1/grants/kill", json=scope)
        deleted = [proof for proof in answer["killed"] if proof["deleted"]]
        killed += deleted
        dropped += answer["dropped"]
        more, progressed = answer["more"], bool(deleted or answer["dropped"])
    facts = {"killed": killed, "dropped": dropped}
    if more:
        message = "Some connections are still there: they changed again and again."
        raise CommandError("CONFLICT", message, "Run it again.", facts)
    table = _table(_REVOCATION_COLUMNS, killed)
    return CommandResult(metadata=facts, drawing=f"{table}\n{dropped} unfinished connections dropped")


@grant.command("reencrypt")
def reencrypt(
    target: Target,
    cursor: Annotated[str, Option(metavar="CURSOR", help="Continue after this cursor.")] = "",
    token: Token = None,
    organization: OrganizationOption = None,
) -> CommandResult:
    """Encrypt all accounts of the organization again with the current key."""
    resealed, failed = 0, []
    following: str | None = cursor
    with opened(target):
        name = organization_of(target, organization)
        proof = {"kind": "jwt", "value": token or _administrator_token(target)}
        message = {"operation": "reencrypt", "proof": proof, "organization": name}
        while following is not None:
            # Never repeated: an operation that may have happened must not run twice unseen.
            answer = broker.invoke({**message, "cursor": following}, seconds=BROKER_TIMEOUT_SECONDS, attempts=1)
            resealed += answer["resealed"]
            failed += answer["failed"]
            following = answer["cursor"] or None
    facts = {"resealed": resealed, "failed": failed}
    if failed:
        hint = "Connect them again, or run it again if a store was down; keep the former key until then."
        raise CommandError(failed[0]["code"], f"{len(failed)} connections could not be encrypted again.", hint, facts)
    return CommandResult(metadata=facts, drawing=f"{resealed} connections encrypted again")


grant.command("app")(store_app)
grant.command("export")(export_grants)
grant.command("import")(import_grants)


def _administrator_token(target: Target) -> str:
    if target.deployed:
        hint = "Give --token: an access token of an administrator."
        raise CommandError("AUTHENTICATION_ERROR", "No access token was given.", hint)
    return str(last_up("give --token")["administrator_token"])


def _only_organization(session: RestSession) -> str:
    """Return the organization of a person who has one; CommandError for one with several."""
    found = session.get("/v1/organizations")["organizations"]
    if len(found) == 1:
        return str(found[0]["organization"])
    names = ", ".join(one["organization"] for one in found)
    raise CommandError("VALIDATION_ERROR", f"Which organization? There are {names}.", "Name one with --org.")


def _read_key(source: str) -> str:
    """Read a key from standard input: every process of the machine can read a command line."""
    if source != "-":
        hint = "Write --key - and give the key on standard input."
        raise CommandError("VALIDATION_ERROR", "A key is read from standard input only.", hint)
    return sys.stdin.read().strip()


def _question(answer: dict[str, Any]) -> CommandError:
    """Return the error that asks for --replace."""
    old, new = answer["old"], answer["new"]
    facts = {"reasons": answer["reasons"], "old": old, "new": new}
    message = f"{answer['service']} would be connected as {new['name']}"
    message += f" instead of {old['name']}." if old else f", a person's account, for the role {answer['role']}."
    return CommandError("CONFLICT", message, "If you want that, add --replace.", facts)


def _table(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    return render_table(
        [name.replace("_", " ") for name in columns], [[_cell(name, row[name]) for name in columns] for row in rows]
    )


def _cell(name: str, value: Any) -> str:
    if name in {"updated_at", "forgotten_by"}:
        return f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M:%S}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)
