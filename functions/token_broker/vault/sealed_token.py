"""Sealed words: what the broker itself has written down of a user, and nobody else can write or read.

Each opens only as what it was sealed as, and for the organization that it was sealed for. It says who the user was: who
that is now, the directory says at each use.
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
    """Whose word it is, and until when it counts (epoch seconds).

    A kind of it has a name, an end, and a place: no grant's owner or field is called so, so neither opens as the other.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
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
        """The word on a caller, with what this kind of it says besides."""
        subject = caller.subject
        return cls(organization=caller.organization, user=caller.user, issuer=subject.issuer, sub=subject.sub, **more)

    @classmethod
    def open(cls, value: SecretStr, organization: str) -> Self:
        """The word that was sealed as this; AuthenticationError for one that is over, and for anything else."""
        try:
            sealed = base64.b64decode(value.get_secret_value(), altchars=b"-_", validate=True)
            opened = vault.unseal_proof(sealed, cls._place(organization))
        except (ValueError, IntegrityError):
            raise AuthenticationError(problem=f"{cls.name} cannot be opened") from None
        token = cls.model_validate_json(opened.get_secret_value())
        if token.expires_at <= time.time():
            raise AuthenticationError(problem=f"{cls.name} has {cls.expired_verb}")
        return token

    def seal(self) -> str:
        """The word as its holder keeps it."""
        sealed = vault.seal(SecretStr(self.model_dump_json()), self._place(self.organization))
        return base64.urlsafe_b64encode(sealed).decode()

    def caller(self) -> Caller:
        """The user as the directory knows it now."""
        caller = identify(Subject(self.issuer, self.sub), organization=self.organization)
        if caller.user != self.user:
            raise AuthenticationError(problem=f"{self.name} is another user's")
        return caller

    @classmethod
    def _place(cls, organization: str) -> vault.SecretPlace:
        owner, field = cls.place
        return vault.SecretPlace(organization=organization, owner=owner, service="any", field=field, version=1)
