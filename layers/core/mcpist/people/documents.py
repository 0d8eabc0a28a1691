"""An organization as a document: what `mcpist org export` writes and REST takes, checked by pydantic models."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from mcpist.caller import AnswerFormat, Role, Subject, SystemRole
from mcpist.people.organization import Organization, TrustedIssuer, User, UserKind

# An empty value in YAML arrives as an empty text.
type Names = Annotated[tuple[str, ...], BeforeValidator(lambda given: given or ())]
type Entries[Entry] = Annotated[dict[str, Entry], BeforeValidator(lambda given: given or {})]


class StrictDocument(BaseModel):
    """A part of a document: unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SubjectDocument(StrictDocument):
    """A user at the identity provider."""

    issuer: Annotated[str, BeforeValidator(lambda issuer: str(issuer).rstrip("/"))]
    sub: str


class UserDocument(StrictDocument):
    """A user, without the id."""

    name: str
    subject: SubjectDocument
    system_role: SystemRole = "user"
    roles: Names = ()
    locale: Literal["en", "ja"] = "en"
    kind: UserKind = "person"


class RoleDocument(StrictDocument):
    """A role, without its name."""

    modules: Names = ()
    allow: Names = ()
    deny: Names = ()
    destructive: bool = False
    approval: Names = ()
    second_person: Names = ()
    format: AnswerFormat = "compact"


class TrustedIssuerDocument(StrictDocument):
    """A company's issuer, on whose word clients act for its people without a question."""

    issuer: Annotated[str, BeforeValidator(lambda issuer: str(issuer).rstrip("/"))]
    adds_people: bool = False
    roles: Names = ()

    def to_issuer(self) -> TrustedIssuer:
        """Return the issuer."""
        return TrustedIssuer(self.issuer, self.adds_people, self.roles)


class OrganizationDocument(StrictDocument):
    """A whole organization."""

    organization: str
    name: str
    disabled: Names = ()
    clients: Names = ()
    trusted_issuers: Annotated[tuple[TrustedIssuerDocument, ...], BeforeValidator(lambda given: given or ())] = ()
    undoable: bool = False
    roles: Entries[RoleDocument] = {}
    users: Entries[UserDocument] = {}

    def to_organization(self) -> Organization:
        """Return the organization that the document describes; its invariants are not checked yet."""
        roles = {name: Role(name, **dict(role)) for name, role in self.roles.items()}
        users = {
            name: User(name, **{**dict(user), "subject": Subject(user.subject.issuer, user.subject.sub)})
            for name, user in self.users.items()
        }
        issuers = tuple(one.to_issuer() for one in self.trusted_issuers)
        return Organization(
            self.organization,
            self.name,
            self.disabled,
            roles,
            users,
            clients=self.clients,
            trusted_issuers=issuers,
            undoable=self.undoable,
        )
