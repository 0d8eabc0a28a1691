"""The caller of a request, and the roles on which every decision about the request is based."""

from dataclasses import dataclass, field
from typing import Literal, Self, get_args

type SystemRole = Literal["admin", "user"]
type ApprovalMode = Literal["required", "second_person"]
type AnswerFormat = Literal["compact", "toon", "json", "markdown"]
"""The form of an answer: the shortest, TOON without additions, JSON, or Markdown where it is a document."""
ANSWER_FORMATS: tuple[AnswerFormat, ...] = get_args(AnswerFormat.__value__)

type PolicyLevel = Literal["permit", "ask", "approve", "refuse"]
"""The decision of a policy: `ask` and `approve` permit what a person, or a second one, agrees to."""
POLICY_LEVELS: tuple[PolicyLevel, ...] = get_args(PolicyLevel.__value__)

MAX_CLIENT_CHARACTERS = 100
ID_PATTERN = r"^[^#/\x00-\x1f]+$"
"""Ids of users and roles, which stand in keys."""
SERVICE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
MAIN_ACCOUNT = "main"
"""The label of an account that was connected without one."""
ACCOUNT_PATTERN = r"^(?:[a-z0-9][a-z0-9_.-]{0,31})?$"
"""Labels of accounts; the empty one stands for the default account."""
ACCOUNT_PROBLEM = "a label has up to 32 small letters, digits, -, _ and ., and begins with a letter or a digit"


@dataclass(frozen=True, slots=True)
class Subject:
    """A user as the identity provider identifies it; never by an e-mail address."""

    issuer: str
    sub: str


@dataclass(frozen=True, slots=True)
class Role:
    """A set of permissions.

    A role has the tools of its modules that only read and reveal no secret, and those that `allow` matches, but none
    that `deny` matches. That an upstream's tool reads counts if the operator says so, not the server. Masks are written
    like `tracker.*` or `*.get_*`.
    """

    name: str
    modules: tuple[str, ...] = ()
    """The names of the enabled modules."""
    allow: tuple[str, ...] = ()
    """Masks of tools."""
    deny: tuple[str, ...] = ()
    """Masks of tools, which win over `allow`."""
    destructive: bool = False
    """Whether it has destructive tools, too, of those that `allow` matches."""
    approval: tuple[str, ...] = ()
    """Masks of tools: what they destroy waits for the approval of a person in the console."""
    second_person: tuple[str, ...] = ()
    """Masks of tools whose approval another person must give."""
    format: AnswerFormat = "compact"
    """The form of answers, where neither a call nor its client asks for one."""


@dataclass(frozen=True, slots=True)
class RegisteredModule:
    """A module that an administrator registered for one organization while the system runs."""

    name: str
    kind: Literal["api", "upstream"]
    sha256: str
    """The hash of its definition, under which it is stored."""
    registered_at: str
    """When it was registered, in UTC."""
    registered_by: str
    """The id of the user who registered it."""
    destination: str
    """Where the accounts that people connect for it are sent, and how."""


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies of an organization, as its administrators write them."""

    version: int
    """Grows with each change."""
    text: str
    labels: tuple[str, ...] = ()
    """Labels of tools and accounts, such as `tracker.*=customer` or `chat/main=internal`; they replace the usual."""
    time_zone: str = "UTC"
    """The time zone of `context.time`."""
    minutes: int = 60
    """How far back `context.before` and `context.recent` look; 0 for only the batch itself."""
    remembers: bool = False
    """Whether what a person read in that time labels all later calls, since nothing shows what they make use of."""


NO_POLICIES = Policies(0, "")


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof of the user's identity for the token broker: a JWT, a browser's session, a warrant, or a permit."""

    kind: Literal["jwt", "session", "warrant", "permit"]
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """The program with which a person makes a request; name and version are what it says of itself."""

    name: str = ""
    """Its name, such as `claude-code`, else its user agent."""
    version: str = ""
    """Its version, as it writes it."""
    id: str = ""
    """Its client id at the identity provider, which is verified with the access token."""

    @classmethod
    def described(cls, name: str, version: str = "", client_id: str = "") -> Self:
        """Return a program's description of itself: printable and short, since people read it in the audit."""
        shown = ("".join(filter(str.isprintable, text)) for text in (name, version, client_id))
        return cls(*(text[:MAX_CLIENT_CHARACTERS] for text in shown))


NO_CLIENT = ClientInfo()


@dataclass(frozen=True, slots=True)
class Caller:
    """A user of an organization, as it makes a request."""

    organization: str
    """The id of the organization."""
    user: str
    """The id of the user in the organization."""
    subject: Subject
    """The user at the identity provider."""
    system_role: SystemRole
    """Whether the user administers the organization."""
    roles: tuple[Role, ...]
    """The roles that apply to this request, in their order."""
    disabled: tuple[str, ...] = ()
    """Masks of the tools that are switched off for the whole organization."""
    modules: tuple[RegisteredModule, ...] = ()
    """The modules that were registered for the organization."""
    policies: Policies | None = None
    """The organization's policies; None if it has none."""
    undoable: bool = False
    """Whether the organization keeps what undoes each write."""
    locale: Literal["en", "ja"] = "en"
    """The language of answers."""
    proof: Proof | None = field(default=None, repr=False)
    """The proof of the identity; None if the token broker is not needed."""
    client: ClientInfo = NO_CLIENT
    """The program with which the request is made."""
    reading_only: bool = False
    """Whether the request may only read, whatever the roles permit."""
    name: str = ""
    """The user's name for people; empty where it is not known."""
    account: str = ""
    """The label of the account that the request names; empty for the default one."""
    pins: tuple[str, ...] = ()
    """The accounts that the caller's batch keeps to, as the token broker wrote them."""
    heard: str = ""
    """The event type whose fields are among the arguments of the caller's batch; empty where there are none."""
    format: AnswerFormat | None = None
    """The form of answers that the client asks for."""
    login: str = ""
    """The login of the client, until whose end it may act; empty where another issuer than our own logs people in."""

    @property
    def answer_format(self) -> AnswerFormat:
        """The form of answers: the client's choice, else that of the first role that has one."""
        if self.format:
            return self.format
        return next((role.format for role in self.roles if role.format != "compact"), "compact")

    @property
    def role_names(self) -> tuple[str, ...]:
        """The names of the roles, in their order."""
        return tuple(role.name for role in self.roles)


def labelled(name: str, label: str) -> str:
    """Return an account's name for people: with its label, unless that is `main`."""
    return name if label == MAIN_ACCOUNT else f"{name} ({label})".lstrip()
