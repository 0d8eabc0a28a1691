"""The routes of connected accounts."""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path
from pydantic import Field

from mcpist.caller import MAIN_ACCOUNT
from mcpist.errors import ConnectionNotFound
from mcpist.running import broker
from mcpist.settings import settings
from mcpist_services import connectable_services, title
from rest_api.exchange import current
from rest_api.router import Body, Operations

router = Operations("connections")


class Connection(Body):
    """A connected account, the caller's own or that of one of its roles."""

    id: Annotated[str, Field(description="For DELETE")]
    service: str
    title: str
    owner: Annotated[str, Field(description="user#ID for a personal account, role#NAME for a shared one")]
    account: str
    label: Annotated[str, Field(description="Names it among several: options.account of a call, account of a step")]
    default: Annotated[bool, Field(description="Whether its owner has chosen it for calls that name none")]
    acts: Annotated[bool, Field(description="Whether tools use this account for the caller")]
    usable: Annotated[bool, Field(description="Whether it works")]
    scopes: list[str]
    created_at: str
    updated_at: str
    connect_url: str


class ConnectionList(Body):
    """The connected accounts, and the services that lack one."""

    connections: list[Connection]
    missing: Annotated[dict[str, str], Field(description="For each service without an account: where to connect one")]
    services: Annotated[list[str], Field(description="The services whose accounts the caller can connect")]


class Disconnection(Body):
    """The result of disconnecting an account."""

    id: str
    service: str
    result: dict[str, Any]


@router.operation("GET", "/v1/connections", "List accounts")
def list_connections() -> ConnectionList:
    """List the accounts with which the caller's tools act, and the services that still need one."""
    services = _services()
    rows = broker.accounts(current().caller, services)
    connected = {row["service"] for row in rows if row["acts"]}
    return ConnectionList(
        connections=[_connection(row) for row in rows],
        missing={service: _connect_url(service) for service in services if service not in connected},
        services=sorted({*connectable_services(current().caller), *services}),
    )


@router.operation("DELETE", "/v1/connections/<id>", "Disconnect an account")
def delete_connection(
    id: Annotated[str, Path(max_length=200)],  # noqa: A002 - the path's variable
) -> Response[Disconnection]:
    """Delete an account here and revoke its tokens at the provider; a role's account needs an administrator."""
    row = next((row for row in broker.accounts(current().caller, _services()) if _connection_id(row) == id), None)
    if row is None:
        raise ConnectionNotFound(id=id)
    kind, _, name = str(row["owner"]).partition("#")
    role = {"role": name} if kind == "role" else {}
    caller = current().caller
    result = broker.request(caller, "revoke", service=row["service"], account=row["label"], **role)
    broker.forget(caller, row["service"])
    return Response(200, "application/json", Disconnection(id=id, service=row["service"], result=result))


def _services() -> list[str]:
    """Return the services whose accounts the caller's modules need."""
    return sorted({module.service for module in current().permissions.modules() if module.service})


def _connection(row: dict[str, Any]) -> Connection:
    service, times = row["service"], {name: str(row[name]) for name in ("created_at", "updated_at")}
    about = {"title": title(service), "account": row["account_name"], "connect_url": _connect_url(service)}
    return Connection.model_validate({**row, **times, **about, "id": _connection_id(row)})


def _connection_id(row: dict[str, Any]) -> str:
    """Return an id that names a service, a label and the owner: `service`, `service~work`, `service~work@members`."""
    kind, _, name = str(row["owner"]).partition("#")
    account = row["service"] if row["label"] == MAIN_ACCOUNT else f"{row['service']}~{row['label']}"
    return f"{account}@{name}" if kind == "role" else str(account)


def _connect_url(service: str) -> str:
    caller = current().caller
    return settings().connect_url(service, caller.organization, caller.user)
