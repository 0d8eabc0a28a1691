"""Kept secrets: those of webhooks, which no table holds in the clear and with which the broker alone computes."""

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import Any

from pydantic import SecretStr

from mcpist.bounded_http import webhook
from mcpist.caller import Caller
from mcpist.errors import IntegrityError, InvalidRequest
from token_broker import vault
from token_broker.message import Mac

SECRET_BYTES = 32


def keep(caller: Caller, owner: str, given: SecretStr | None) -> dict[str, Any]:
    """Return `{sealed, secret}`: only a secret that we made comes back, for whoever has to sign with it."""
    secret = given or SecretStr(secrets.token_hex(SECRET_BYTES))
    sealed = vault.seal(secret, _place(caller.organization, owner))
    return {
        "sealed": base64.urlsafe_b64encode(sealed).decode(),
        "secret": None if given else secret.get_secret_value(),
    }


def mac(message: Mac) -> dict[str, Any]:
    """Return `{mac}`, the HMAC-SHA256 of a message under a kept secret, in hexadecimal digits."""
    try:
        sealed = base64.b64decode(message.sealed.get_secret_value(), altchars=b"-_", validate=True)
        secret = vault.unseal_proof(sealed, _place(message.organization, message.owner)).get_secret_value()
    except (binascii.Error, IntegrityError):
        raise InvalidRequest(field="sealed", problem="it cannot be opened for this owner") from None
    key = webhook.secret_key(secret) if secret.startswith(webhook.SECRET_PREFIX) else secret.encode()
    return {"mac": hmac.new(key, message.message, hashlib.sha256).hexdigest()}


def _place(organization: str, owner: str) -> vault.SecretPlace:
    return vault.SecretPlace(
        organization=organization, owner=f"events#{owner}", service="any", field="secret", version=1
    )
