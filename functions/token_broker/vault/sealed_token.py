"""Sealed tokens: statements about a user that only the broker can write and read.

Each opens only as the kind and for the organization that it was sealed for. It identifies a user; the directory decides
at each use who that user is now.
"""

import base64
import time
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, SecretStr

from mcpist.caller import Caller, Subject
from mcpist.errors import AuthenticationError, IntegrityError
from mcpist.people.directory import identify
from token_broker.vault import vault


class SealedToken(BaseModel):
    """A user of an organization, until `expires_at` (epoch seconds).

    A newer release may have sealed it, so unknown fields are ignored: a batch outlives a rollback.

    Each kind has a name, a verb for its end, and a place: no grant has that owner or field, so neither opens as the
    other.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)
    name: ClassVar[str]
    expired_verb: ClassVar[str]
    place: ClassVar[tuple[str, str]]

    organization: str
    user: str
    issuer: str
    sub: str
    expires_at: int

    @classmethod
    def for_caller(cls, caller: Caller, **more: Any) -> Self:
        """Return a token of a caller, with the further fields of its kind."""
        subject = caller.subject
        return cls(organization=caller.organization, user=caller.user, issuer=subject.issuer, sub=subject.sub, **more)

    @classmethod
    def open(cls, value: SecretStr, organization: str) -> Self:
        """Return the token that was sealed as this kind; AuthenticationError for an expired one or any other value."""
        try:
            sealed = base64.b64decode(value.get_secret_value(), altchars=b"-_", validate=True)
            opened = vault.unseal_proof(sealed, cls._place(organization))
            token = cls.model_validate_json(opened.get_secret_value())
        except (ValueError, IntegrityError):  # also for one of a release that had other fields
            raise AuthenticationError(problem=f"{cls.name} cannot be opened") from None
        if token.expires_at <= time.time():
            raise AuthenticationError(problem=f"{cls.name} has {cls.expired_verb}")
        return token

    def seal(self) -> str:
        """Return the token as text for its holder."""
        sealed = vault.seal(SecretStr(self.model_dump_json()), self._place(self.organization))
        return base64.urlsafe_b64encode(sealed).decode()

    def caller(self) -> Caller:
        """Return the user as the directory knows it now."""
        caller = identify(Subject(self.issuer, self.sub), organization=self.organization)
        if caller.user != self.user:
            raise AuthenticationError(problem=f"{self.name} is another user's")
        return caller

    @classmethod
    def _place(cls, organization: str) -> vault.SecretPlace:
        owner, field = cls.place
        return vault.SecretPlace(organization=organization, owner=owner, service="any", field=field, version=1)
