"""On whose behalf an upstream is called: the references of its configuration, resolved for one caller."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcpist.aws.clients import AwsError, ResourceMissing, client, store_errors
from mcpist.caller import Caller
from mcpist.errors import UpstreamSecretMissing, UpstreamUnavailable
from mcpist.memory import Memory
from mcpist.running import broker
from mcpist_services.upstream.connections import Identity
from mcpist_services.upstream.lists import EVERYBODY, ListOwner
from mcpist_services.upstream.registered import label, server_of

PARAMETER_TTL_SECONDS = 300.0
MAX_CACHED_PARAMETERS = 1_000

parameter_cache: Memory[str, str] = Memory(PARAMETER_TTL_SECONDS, MAX_CACHED_PARAMETERS)


def owner(caller: Caller, server: str) -> ListOwner:
    """Return whose list of tools a server gives: the caller's if it is asked with the caller's account."""
    return (caller.organization, caller.user) if server_of(server).grants else EVERYBODY


@dataclass(frozen=True, slots=True)
class ActingIdentity:
    """An identity, and the version of each grant in it."""

    identity: Identity
    versions: Mapping[str, int] = field(default_factory=dict)


def identity_for(caller: Caller, server: str, *, refused: ActingIdentity | None = None) -> ActingIdentity:
    """Return the identity that a server is called as; after it `refused` one, its secrets are resolved again.

    It is the caller's own identity if the server uses an account of the caller's, the organization's if it is a child
    process, else the shared one.
    """
    configured = server_of(server)
    stored = sorted(one for one in configured.references if one.startswith("ssm:"))
    secrets = {one: _parameter(one.removeprefix("ssm:"), server, refused is not None) for one in stored}
    owners, versions = [], {}
    for service in sorted(configured.grants):
        credential = broker.resolve(caller, service, refused=refused.versions.get(service) if refused else None)
        secrets[f"grant:{service}"] = credential.token
        owners.append(credential.owner)
        versions[service] = credential.version
    if not owners:
        # A child process keeps what its callers say: each organization has its own.
        organization = caller.organization if configured.type == "stdio" else ""
        return ActingIdentity(Identity(organization, secrets=secrets))
    return ActingIdentity(Identity(caller.organization, " ".join([caller.user, *owners]), secrets), versions)


def _parameter(path: str, server: str, fresh: bool) -> str:
    """A stored parameter's value, from memory for some minutes."""
    known = parameter_cache.get(path)
    if known is not None and not fresh:
        return known
    try:
        with store_errors("parameters"):
            answer = client("ssm").get_parameter(Name=path, WithDecryption=True)
    except ResourceMissing as error:
        secret = path.partition("/upstreams/")[2]
        raise UpstreamSecretMissing(service=label(server), parameter=path, secret=secret) from error
    except AwsError as error:
        problem = f"its parameter {path} cannot be read ({error.code})"
        raise UpstreamUnavailable(service=label(server), problem=problem) from error
    return parameter_cache.put(path, str(answer["Parameter"]["Value"]))
