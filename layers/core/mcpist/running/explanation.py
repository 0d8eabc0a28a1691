"""Why a caller can or cannot use a tool: the gate's own decisions in their order, and the first that says no."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from mcpist import errors
from mcpist.caller import labelled
from mcpist.errors import McpistError
from mcpist.people.administration import Administration
from mcpist.running import gate
from mcpist.running.accounts import BrokerAccounts, acting_row
from mcpist.running.gate import AdmittedUse, ToolUse
from mcpist.running.policy import outlook, refusal
from mcpist.settings import settings
from mcpist.tools.access.effects import permissions_of
from mcpist.tools.access.permissions import Permissions, acting_caller
from mcpist.tools.access.role_rules import matching, refusing_rule
from mcpist.tools.search.catalogue import Catalogue

if TYPE_CHECKING:
    from mcpist.policies.decision import Verdict

type Answer = Literal["yes", "no", "open"]
"""`open`: it was not decided, since an earlier decision says no, or it could not be decided now."""
type Actor = Literal["you", "administrator", "operator", "nobody"]
type AccountFinder = Callable[[AdmittedUse], str]
"""Returns the name of the account that would act, or raises why there is none."""

ACCOUNT_STEPS = ("account", "scope")
# Switched off, not approved or not reachable by what the operator configured, for all organizations.
_OPERATOR_STEPS = {"listed", "tool"}
# `...` stands for the former list, which an option's list replaces.
_REMEDIES = {
    **dict.fromkeys(_OPERATOR_STEPS, "mcpist module show {module}"),
    "role": "mcpist role set ROLE --modules ...,{module}",
    "mask": "mcpist role set ROLE --allow ...,{name}",
    "destructive": "mcpist role set ROLE --destructive",
    "module_switch": "mcpist module enable {module}",
    "switch": "mcpist tool enable {name}",
}


@dataclass(frozen=True, slots=True)
class UseDecision:
    """One decision about a use."""

    name: str
    """One of Permissions.TOOL_DECISIONS, `policy`, `account` or `scope`."""
    verdict: Answer
    error: McpistError | None = None
    """The refusal, or why it is open."""
    actor: Actor | None = None
    """For a refusal: the one who can change it."""
    remedy: str = ""
    """The command or the address that changes it, where there is one."""


@dataclass(frozen=True, slots=True)
class RoleFinding:
    """The decision of one role about a tool, which only an administrator sees."""

    role: str
    rule: str
    """The rule that refuses it: module, deny, allow or destructive; empty if the role permits it."""
    mask: str = ""
    """The mask that decided, if one did."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The chain of decisions about one user's use of one tool."""

    module: str
    tool: str
    user: str
    steps: tuple[UseDecision, ...]
    account: str = ""
    """The account that would act."""
    asks_first: bool = False
    """Whether the person is asked before it runs."""
    roles: tuple[RoleFinding, ...] = ()
    """For an administrator: what each role of the user says."""
    disabled_by: str = ""
    """For an administrator: the entry of the organization's `disabled` that switches it off."""

    @property
    def refusal(self) -> UseDecision | None:
        """The first decision that says no."""
        return next((step for step in self.steps if step.verdict == "no"), None)


def explain(
    permissions: Permissions, module: str, tool: str, *, find_account: AccountFinder | None = None
) -> Explanation:
    """Return the decisions about a use by the caller of these permissions; nothing runs, and no row is written.

    Nothing is decided after the first no: so a person learns no more of a tool of other roles than by calling it.
    """
    steps = list(_permission_steps(permissions, module, tool))
    undecided = [UseDecision(name, "open") for name in ACCOUNT_STEPS]
    explanation = Explanation(module, tool, permissions.caller.user, (*steps, *undecided))
    if explanation.refusal:
        return explanation
    found = permissions.catalogue.module(module).tools[tool]
    admitted = AdmittedUse(permissions, permissions.catalogue.module(module), found, ToolUse(module, tool, {}, ""))
    policy = outlook(permissions, admitted.module, found)
    steps += [_policy_step(policy, f"{module}.{tool}")] if policy else []
    asks = found.asks or (policy is not None and policy.level in {"ask", "approve"})
    if policy and policy.level == "refuse":
        return replace(explanation, steps=(*steps, *undecided))
    account, account_steps = _account_steps(admitted, find_account or (lambda use: gate.account_of(use).name))
    return replace(explanation, steps=(*steps, *account_steps), account=account, asks_first=asks)


def with_roles(explanation: Explanation, permissions: Permissions) -> Explanation:
    """Add what an administrator may know: what each role says, and the entry that switches the tool off."""
    caller, module, tool = permissions.caller, explanation.module, explanation.tool
    entry = permissions.catalogue.index.modules.get(module)
    listed = entry.tools.get(tool) if entry else None
    findings = []
    for role, known in [(role, listed) for role in caller.roles if listed]:
        rule = refusing_rule(role, known)
        mask = matching(f"{module}.{tool}", role.deny if rule == "deny" else role.allow)
        findings.append(RoleFinding(role.name, rule or "", mask if rule != "allow" else ""))
    off = module if module in caller.disabled else matching(f"{module}.{tool}", caller.disabled)
    return replace(explanation, roles=tuple(findings), disabled_by=off)


def listed_account(list_accounts: Callable[[], Collection[Mapping[str, Any]]]) -> AccountFinder:
    """Return the finder for another user, whose accounts an administrator lists: their own and their roles'."""

    def find(admitted: AdmittedUse) -> str:
        service = admitted.service
        if not service:
            return ""
        caller = acting_caller(admitted.caller, admitted.tool)
        row = acting_row(caller, (row for row in list_accounts() if service in row["services"]))
        url = settings().connect_url(service, caller.organization, caller.user)
        if row is None:
            raise errors.ConnectionRequired(service=service, url=url)
        if not row["works"]:
            raise errors.ReconnectRequired(service=service, url=url)
        if scope := admitted.module.missing_scope(admitted.tool.name, row["scopes"]):
            raise errors.ScopeMissing(service=service, scope=scope, url=url)
        return labelled(row["account_name"], row["label"])

    return find


def _permission_steps(permissions: Permissions, module: str, tool: str) -> Iterator[UseDecision]:
    """Yield the decisions of `Permissions.tool`, which each call makes, too."""
    is_refused = False
    for decision in permissions.TOOL_DECISIONS:
        refusal = None if is_refused else decision.refusal(permissions, module, tool)
        if refusal is None:
            yield UseDecision(decision.name, "open" if is_refused else "yes")
            continue
        is_refused = True
        # A module that exists only for others reads like one that the roles lack.
        name = "role" if decision.name == "module" and isinstance(refusal, errors.AuthorizationError) else decision.name
        if name != decision.name:
            yield UseDecision(decision.name, "yes")
        actor = _actor(name, refusal)
        full = f"{module}.{tool}"
        # A role that has a module of which it may use nothing lacks the allow, not the module.
        holds = any(module in one.modules and not matching(full, one.deny) for one in permissions.caller.roles)
        lacks = "mask" if name == "role" and holds else name
        yield UseDecision(name, "no", refusal, actor, _remedy(lacks, actor, refusal, full))


def _policy_step(verdict: "Verdict", name: str) -> UseDecision:
    """Return the decision of the policies, as far as no argument decides it."""
    if error := refusal(verdict, name):
        return UseDecision("policy", "no", error, "administrator", "mcpist policy show")
    return UseDecision("policy", "open" if verdict.depends_on else "yes")


def _account_steps(admitted: AdmittedUse, find_account: AccountFinder) -> tuple[str, tuple[UseDecision, UseDecision]]:
    """Return the name of the account that acts, and the decisions about it."""
    account, scope = (UseDecision(name, "yes") for name in ACCOUNT_STEPS)
    try:
        return find_account(admitted), (account, scope)
    except errors.ScopeMissing as error:
        return "", (account, replace(scope, verdict="no", error=error, actor="you", remedy=error.details["url"]))
    except errors.AccountError as error:
        refused = replace(account, verdict="no", error=error, actor="you", remedy=error.details["url"])
    except McpistError as error:
        refused = replace(account, verdict="open", error=error, actor=_actor("account", error))
    return "", (refused, replace(scope, verdict="open"))


def _actor(step: str, error: McpistError) -> Actor:
    """Return the one who can change a decision; nobody for an error that passes by itself."""
    if isinstance(error, errors.TransientError):
        return "nobody"
    if isinstance(error, (errors.CallerError, errors.ReadingOnly)):
        return "you"
    if isinstance(error, errors.AdministratorError):
        return "operator" if step in _OPERATOR_STEPS else "administrator"
    return "operator"


def _remedy(step: str, actor: Actor, error: McpistError, name: str) -> str:
    """Return the command that changes a decision."""
    # What only the caller can change, such as a name or an address that serves readers, has no command.
    is_changeable = actor == "operator" if step in _OPERATOR_STEPS else not isinstance(error, errors.ReadingOnly)
    return _REMEDIES.get(step, "").format(name=name, module=name.partition(".")[0]) if is_changeable else ""


def look_as(administration: Administration, catalogue: Catalogue, user: str) -> tuple[Permissions, AccountFinder]:
    """Return another user's permissions, and the finder of the account that would act; UserNotFound if there is none.

    A caller who is no administrator is refused; the refusal has an audit row.
    """
    with administration.permitted("why.read", f"users.{user}", event="look"):
        permissions = permissions_of(administration.read()[1], catalogue, user)
    accounts = BrokerAccounts(administration.caller)
    owners = [f"user#{user}", *(f"role#{role}" for role in permissions.caller.role_names)]
    return permissions, listed_account(lambda: [row for owner in owners for row in accounts.rows(owner)])
