"""Company logins: an administrator names the OIDC issuer that says who an organization's people are.

It is chosen by the domain of an address, so the domain itself has to name the organization, in a file that only its
owner can publish. The issuer speaks for users of this organization alone. Our client's secret goes to a parameter that
the login reads, and nobody else.
"""

import re
import secrets
import time
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from mcpist.aws.attributes import encode
from mcpist.aws.clients import ResourceMissing, client, store_errors
from mcpist.aws.table import directory_table, holds
from mcpist.errors import CompanyLoginNotFound, InvalidRequest, NotConfigured, VersionChanged
from mcpist.people import issuers
from mcpist.people.administration import Administration
from mcpist.people.company import is_issuer_url
from mcpist.people.identity import METADATA_PATHS
from mcpist.people.issuers import DOMAIN, DOMAINS_KEY, Issuer
from mcpist.people.oidc_client import OidcClient, has_endpoints, metadata_cache
from mcpist.settings import settings

PROOF_URL = "https://{domain}/.well-known/mcpist"
SCOPE = "openid email profile"
CHECK_SECONDS, CONNECT_SECONDS = 15.0, 3.0
MAX_CHECKED_BYTES = 1_000_000
MAX_COMPANY_LOGINS, MAX_VALUE_CHARACTERS = 20, 500
CLIENT_ERRORS = {"invalid_client", "unauthorized_client"}
# Pages of issuers that say with another status that they refuse.
_REFUSAL = re.compile(r"/oauth/error|AADSTS(50011|7000\d\d|90002)")
_REDIRECT = re.compile(r"redirect[ _]?uri|AADSTS50011", re.IGNORECASE)


def find(organization: str) -> list[Issuer]:
    """Return the company logins of an organization."""
    return [one for one in issuers.stored().values() if one.organization == organization]


def proof_line(organization: str) -> str:
    """Return the line by which a domain's file names an organization: the address of its endpoint."""
    return f"{settings().public_url}/mcp/{quote(organization, safe='')}"


def save(work: Administration, domain: str, *, issuer: str, client_id: str, client_secret: str) -> Issuer:
    """Store the login of a domain's people, with an audit row; InvalidRequest names the value that is wrong."""
    domain, organization = domain.strip().casefold(), work.caller.organization
    key = secrets.token_hex(16) if client_secret else ""
    new = Issuer(issuer.strip().rstrip("/"), client_id.strip(), domain, organization, key)
    with work.permitted("logins.set", f"logins.{domain}"):
        if not settings().login_secrets:
            raise NotConfigured(service="login", problem="the deployment has no login of its own")
        before = issuers.stored()
        _check_shape(new, before)
        deadline = time.monotonic() + CHECK_SECONDS
        _check_client(OidcClient(new.url, new.client_id, new.redirect_uri, client_secret), deadline)
        _check_domain(new, before.get(domain), deadline)
        _record(work, domain, before.get(domain), new)
        if client_secret:
            with store_errors("parameters"):
                client("ssm").put_parameter(Name=new.secret_name, Value=client_secret, Type="SecureString")
        _put(new, before.get(domain))
    return new


def remove(work: Administration, domain: str) -> None:
    """End the login of a domain's people, with an audit row; CompanyLoginNotFound if the organization has none."""
    domain = domain.casefold()
    with work.permitted("logins.remove", f"logins.{domain}"):
        found = issuers.stored().get(domain)
        if found is None or found.organization != work.caller.organization:
            raise CompanyLoginNotFound(domain=domain)
        _record(work, domain, found, None)
        values = {":organization": found.organization}
        directory_table().delete(DOMAINS_KEY, domain, condition="#organization = :organization", values=values)
        _forget(found)


def _put(new: Issuer, former: Issuer | None) -> None:
    item = {"pk": DOMAINS_KEY, "sk": new.domain, **encode(new)}
    condition, values = "attribute_not_exists(pk)", {}
    if former:
        condition, values = "#secret = :secret AND #url = :url", {":secret": former.secret, ":url": former.url}
    if not holds(directory_table().put, item, condition=condition, values=values):
        raise VersionChanged(what=f"the login of {new.domain}")
    if former:
        _forget(former)


def _forget(former: Issuer) -> None:
    """Delete the secret of a login that has ended, and do not offer it any more."""
    issuers.issuer_cache.clear()
    if former.secret:
        with suppress(ResourceMissing), store_errors("parameters"):
            client("ssm").delete_parameter(Name=former.secret_name)


def _record(work: Administration, domain: str, *states: Issuer | None) -> None:
    before, after = ({"issuer": one.url, "client_id": one.client_id} if one else None for one in states)
    work.record("logins.set" if after else "logins.remove", f"logins.{domain}", before=before, after=after)


# -- the check of each value ---------------------------------------------------------------------------


def _check_shape(new: Issuer, known: Mapping[str, Issuer]) -> None:
    if not DOMAIN.fullmatch(new.domain) or len(new.domain) > MAX_VALUE_CHARACTERS:
        raise InvalidRequest(field="domain", problem="it is no domain of addresses, such as example.com")
    if new.domain in issuers.by_domain(settings().issuers_by_domain):
        raise InvalidRequest(field="domain", problem="the operator has chosen the login of this domain")
    own = [one.domain for one in known.values() if one.organization == new.organization]
    if new.domain not in own and len(own) >= MAX_COMPANY_LOGINS:
        raise InvalidRequest(field="domain", problem=f"there are at most {MAX_COMPANY_LOGINS}")
    if not is_issuer_url(new.url):
        raise InvalidRequest(field="issuer", problem="it is not the https URL of another issuer")
    if not 0 < len(new.client_id) <= MAX_VALUE_CHARACTERS:
        raise InvalidRequest(field="client_id", problem=f"it has 1 to {MAX_VALUE_CHARACTERS} characters")


def _check_client(ours: OidcClient, deadline: float) -> None:
    """Refuse what the issuer refuses, as far as it says so without a person."""
    found = _described(ours.issuer, deadline)
    metadata_cache.put(ours.issuer, found)
    url = ours.authorization_url(state="check", verifier="check", nonce="check", scope=SCOPE, prompt="none")
    answer, refused = _ask("GET", url, "issuer", deadline), ""
    with suppress(ValueError):  # an address or a message that is none says nothing
        refused = _refused_field(answer, ours.redirect_uri)
    if refused == "redirect_uri":
        raise InvalidRequest(field=refused, problem=f"the issuer's client has not {ours.redirect_uri}")
    if refused:
        raise InvalidRequest(field=refused, problem="the issuer does not know this client")
    answer = _ask("POST", str(found["token_endpoint"]), "issuer", deadline, form=ours.token_form("check", "check"))
    error = _object(answer.body).get("error")
    if answer.status == 401 or error in CLIENT_ERRORS:
        raise InvalidRequest(field="client_secret", problem="the issuer refuses the client with this secret")


def _described(issuer: str, deadline: float) -> dict[str, Any]:
    for path in METADATA_PATHS:
        answer = _ask("GET", issuer + path, "issuer", deadline)
        if answer.status == 200 and (found := _object(answer.body)):
            break
    else:
        raise InvalidRequest(field="issuer", problem=f"it publishes no metadata at {METADATA_PATHS[0]}")
    named = str(found.get("issuer", ""))[:MAX_VALUE_CHARACTERS]
    if named.rstrip("/") != issuer:
        raise InvalidRequest(field="issuer", problem=f'it calls itself "{named}"')
    if not has_endpoints(found, issuer):
        raise InvalidRequest(field="issuer", problem="its metadata names no safe addresses of a login")
    return found


def _refused_field(answer: Any, redirect_uri: str) -> str:
    """Return which value an issuer refuses in a request for a code; empty where it does not say so."""
    target = answer.headers.get("location", "")
    query = parse_qs(urlsplit(target).query)
    if target.partition("?")[0] == redirect_uri:
        return "client_id" if query.get("error", [""])[0] in CLIENT_ERRORS else ""
    # One issuer gives its reason as a message in base64.
    reason = urlsafe_b64decode(query.get("authError", [""])[0].rstrip("=") + "==")
    said = f"{target if answer.status < 400 else ''}\n{reason!r}\n{answer.body.decode(errors='replace')}"
    if answer.status >= 500 or (answer.status < 400 and not _REFUSAL.search(said)):
        return ""
    return "redirect_uri" if _REDIRECT.search(said) else "client_id"


def _check_domain(new: Issuer, holder: Issuer | None, deadline: float) -> None:
    """Refuse a domain whose own file does not name the organization, or that names another which has it already."""
    if settings().local_services:
        return  # on one machine the administrator is the operator
    url = PROOF_URL.format(domain=new.domain)
    answer = _ask("GET", url, "domain", deadline, follow=True)
    lines = answer.body.decode(errors="replace").splitlines() if answer.status == 200 else []
    named = {line.strip() for line in lines}
    if proof_line(new.organization) not in named:
        problem = f"{url} has no line {proof_line(new.organization)}"
        raise InvalidRequest(field="domain", problem=problem)
    if holder and holder.organization != new.organization and proof_line(holder.organization) in named:
        raise InvalidRequest(field="domain", problem="another organization has it, and its file names that one, too")


def _ask(
    method: str, url: str, field: str, deadline: float, form: dict[str, str] | None = None, *, follow: bool = False
) -> Any:
    from mcpist.bounded_http.client import HttpClient  # most requests need not wait for its import
    from mcpist.bounded_http.failures import ExchangeFailed, ExchangeTimeout

    http = HttpClient(max_bytes=MAX_CHECKED_BYTES, connect_seconds=CONNECT_SECONDS, keep_alive=False)
    try:
        if follow:
            return http.get(url, deadline=deadline)
        return http.exchange(method, url, deadline=deadline, form=form)
    except (ExchangeFailed, ExchangeTimeout, ValueError):
        place = urlsplit(url)
        problem = f"{place.scheme}://{place.netloc}{place.path} cannot be read, is slow, or sends too much"
        raise InvalidRequest(field=field, problem=problem) from None


def _object(body: bytes) -> dict[str, Any]:
    from mcpist.bounded_http.client import parse_json

    found = parse_json(body)
    return found if isinstance(found, dict) else {}
