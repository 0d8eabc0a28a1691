"""For whom an upstream is asked: the values of the references in its configuration, resolved for one caller."""

import time

from mcpist import broker
from mcpist.caller import Caller
from mcpist.errors import UpstreamUnavailable
from mcpist.stores import client, reaching
from mcpist_modules.upstream.configuration import configuration
from mcpist_modules.upstream.connections import Identity
from mcpist_modules.upstream.lists import NOBODY, Owner

KEEP_SECONDS = 300.0

_parameters: dict[str, tuple[float, str]] = {}


def owner(caller: Caller, server: str) -> Owner:
    """Whose list of tools a server may answer: the caller's where it is asked with an account."""
    return (caller.organization, caller.user) if configuration().servers[server].grants else NOBODY


def identity(caller: Caller, server: str, *, fresh: bool = False) -> Identity:
    """The identity that a caller has for a server; `fresh` after the server has refused the last one's secrets.

    It is the caller's own where an account of the caller's acts, and else everybody's.
    """
    configured = configuration().servers[server]
    secrets = {f"ssm:{path}": _parameter(path, server, fresh) for path in _paths(configured.references)}
    owners = []
    for service in sorted(configured.grants):
        credential = broker.resolve(caller, service, fresh=fresh)
        secrets[f"grant:{service}"] = credential.token
        owners.append(credential.owner)
    return (
        Identity(caller.organization, " ".join([caller.user, *owners]), secrets)
        if owners
        else Identity(secrets=secrets)
    )


def forget() -> None:
    """Drop what memory holds."""
    _parameters.clear()


def _paths(references: frozenset[str]) -> list[str]:
    return sorted(one.removeprefix("ssm:") for one in references if one.startswith("ssm:"))


def _parameter(path: str, server: str, fresh: bool) -> str:
    """A stored parameter's value, from memory for some minutes."""
    from botocore.exceptions import ClientError

    known = _parameters.get(path)
    if known and not fresh and 0 <= time.time() - known[0] < KEEP_SECONDS:
        return known[1]
    try:
        with reaching("parameters"):
            answer = client("ssm").get_parameter(Name=path, WithDecryption=True)
    except ClientError as error:
        problem = f"its parameter {path} cannot be read ({error.response['Error']['Code']})"
        raise UpstreamUnavailable(service=server, problem=problem) from error
    value = str(answer["Parameter"]["Value"])
    _parameters[path] = (time.time(), value)
    return value
