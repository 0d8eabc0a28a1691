"""Every error that MCPist answers with, sorted by who must act.

McpistError
├── CallerError                    the caller changes the request
│   ├── InvalidRequest             VALIDATION_ERROR 400
│   │   ├── InvalidArguments
│   │   ├── InvalidBatch
│   │   │   ├── InvalidLine
│   │   │   ├── EmptyBatch
│   │   │   ├── TooManySteps
│   │   │   ├── DuplicateStep
│   │   │   ├── UnknownStep
│   │   │   ├── CyclicSteps
│   │   ├── UnresolvedReference
│   │   ├── NotAList
│   │   ├── TooManyElements
│   │   ├── StaleConfirmation
│   │   ├── StaleConnection
│   │   ├── FormRefused
│   │   ├── InvalidPolicies
│   │   │   └── InvalidPolicy
│   │   ├── LastAdministrator      CONFLICT 409
│   │   ├── RoleInUse              CONFLICT 409
│   │   ├── UnknownAccount
│   │   ├── AccountNotChosen
│   │   ├── UnsupportedDelivery
│   │   ├── CallbackFailed
│   │   └── GrantsRemain           CONFLICT 409
│   ├── AuthenticationError        AUTHENTICATION_ERROR 401
│   │   └── TokenMissing
│   ├── ModuleNotFound             MODULE_NOT_FOUND 404
│   │   ├── CategoryNotFound
│   │   └── NotRegistered
│   ├── ToolNotFound               TOOL_NOT_FOUND 404
│   │   └── UnknownToolName
│   ├── FileNotFound               FILE_NOT_FOUND 404
│   │   └── FileExpired
│   ├── BatchNotFound              BATCH_NOT_FOUND 404
│   ├── AutomationNotFound         AUTOMATION_NOT_FOUND 404
│   ├── RouteNotFound              NOT_FOUND 404
│   │   ├── PageNotFound
│   │   ├── SourceNotFound
│   │   └── CompanyLoginNotFound
│   ├── MethodNotAllowed           METHOD_NOT_ALLOWED 405
│   ├── UnsupportedMediaType       UNSUPPORTED_MEDIA_TYPE 415
│   ├── ConnectionNotFound         CONNECTION_NOT_FOUND 404
│   ├── RangeNotSatisfiable        RANGE_NOT_SATISFIABLE 416
│   ├── ConfirmationRequired       CONFIRMATION_REQUIRED 428
│   │   ├── ConfirmationPending
│   │   │   ├── ChangeConfirmationPending
│   │   │   └── AgreementPending
│   │   ├── ConfirmationDeclined
│   │   ├── UnseenTarget
│   │   ├── ChangeConfirmationRequired
│   │   └── AgreementRequired
│   ├── ApprovalPending            APPROVAL_REQUIRED 428
│   │   ├── ApprovalDeclined
│   │   └── ApprovalEnded
│   ├── ApprovalNotFound           APPROVAL_NOT_FOUND 404
│   ├── EventTypeNotFound          EVENT_TYPE_NOT_FOUND 404
│   ├── SubscriptionNotFound       SUBSCRIPTION_NOT_FOUND 404
│   ├── UserNotFound               USER_NOT_FOUND 404
│   ├── GroupNotFound              GROUP_NOT_FOUND 404
│   ├── InvitationNotFound         INVITATION_NOT_FOUND 404
│   ├── RoleNotFound               ROLE_NOT_FOUND 404
│   ├── AuditRowNotFound           AUDIT_ROW_NOT_FOUND 404
│   ├── ChangeNotFound             CHANGE_NOT_FOUND 404
│   ├── Conflict                   CONFLICT 409
│   │   ├── AlreadyExists
│   │   ├── TooManyInterests
│   │   ├── AlreadyResumed
│   │   ├── NotUndoable
│   │   │   └── NothingToUndo
│   │   ├── AlreadyUndone
│   │   ├── TargetChanged
│   │   ├── ApprovalDecided
│   │   ├── VersionChanged         PRECONDITION_FAILED 412
│   │   ├── RequestInProgress
│   │   └── AnswerNotKept
│   ├── IdempotencyKeyReused       IDEMPOTENCY_KEY_REUSED 422
│   └── PayloadTooLarge            PAYLOAD_TOO_LARGE 413
│       ├── AnswerTooLarge
│       └── FileTooLarge
├── AdministratorError             an administrator changes a permission or the configuration
│   ├── AuthorizationError         AUTHORIZATION_ERROR 403
│   │   ├── MembershipRequired
│   │   │   └── AcceptanceRequired
│   │   ├── ClientNotAllowed
│   │   ├── OrganizationAmbiguous
│   │   ├── ApprovalByProgram
│   │   ├── SecondPersonRequired
│   │   └── ReadingOnly
│   ├── OriginNotAllowed           ORIGIN_NOT_ALLOWED 403
│   ├── ToolDisabled               TOOL_DISABLED 403
│   │   ├── DisabledByOperator
│   │   ├── ApprovalRequired
│   │   └── NameTaken
│   │       └── AccountsOfAnother
│   ├── PolicyRefused              POLICY_REFUSED 403
│   │   ├── NoPolicyPermits
│   │   ├── PolicyUnasked
│   │   └── PolicyFailed
│   └── NotConfigured              NOT_CONFIGURED 503
│       ├── ProgramUnavailable
│       └── UpstreamSecretMissing
├── AccountError                   the user connects an account
│   ├── ConnectionRequired         CONNECTION_REQUIRED 409
│   ├── ReconnectRequired          RECONNECT_REQUIRED 409
│   └── ScopeMissing               SCOPE_MISSING 409
│       └── UnnamedScopeMissing
├── TransientError                 nobody: trying again helps
│   ├── Timeout                    TIMEOUT 408
│   │   └── RequestTimeout
│   ├── RateLimitExceeded          RATE_LIMIT_EXCEEDED 429
│   │   ├── UserLimitReached
│   │   ├── TooManyInFlight
│   │   ├── TooManyBatches
│   │   ├── StepLimitReached
│   │   ├── DayLimitReached
│   │   ├── TooManyApprovals
│   │   └── ExecutionsExhausted
│   ├── UpstreamUnavailable        UPSTREAM_UNAVAILABLE 503
│   ├── SchemaFetchError           SCHEMA_FETCH_ERROR 503
│   └── StoreUnavailable           STORE_UNAVAILABLE 503
│       ├── NewerFormat
│       └── AnswerWithheld
├── ToolExecutionError             TOOL_EXECUTION_ERROR 500, as the service's message says
│   ├── UpstreamCallError
│   ├── ProgramFailed
│   ├── ProgramKilled
│   ├── ProgramLimitReached
│   └── OutputRefused
└── DefectError                    us
    ├── InvalidConfiguration       VALIDATION_ERROR 400
    ├── IntegrityError             INTEGRITY_ERROR 500
    └── InternalError              INTERNAL_ERROR 500

The texts are in `error_texts/`, a file for each language; an error's details are the values that fill them.
"""

from collections.abc import Mapping
from typing import Any

from mcpist.error_base import Locale as Locale
from mcpist.error_base import McpistError as McpistError
from mcpist.error_base import concrete_errors as concrete_errors
from mcpist.error_base import from_message as from_message
from mcpist.error_base import problem_text as problem_text
from mcpist.error_base import to_message as to_message


class CallerError(McpistError):
    """The request cannot be served as it is."""


class InvalidRequest(CallerError, code="VALIDATION_ERROR", status=400):
    """Something in the request has the wrong shape; `field` says where."""


class InvalidArguments(InvalidRequest):
    """Arguments that the tool's schema refuses."""


class InvalidBatch(InvalidRequest):
    """A batch that is refused before anything runs."""


class InvalidLine(InvalidBatch):
    """A line of JSONL that is not a step."""


class EmptyBatch(InvalidBatch):
    """A batch without a step."""


class TooManySteps(InvalidBatch):
    """More steps than a batch may have."""


class DuplicateStep(InvalidBatch):
    """Two lines with the same id."""


class UnknownStep(InvalidBatch):
    """A dependency on a step, or a reference to one, that is not in the batch."""


class CyclicSteps(InvalidBatch):
    """Steps that wait for each other."""


class UnresolvedReference(InvalidRequest):
    """A `${step.path}` without a value."""


class StaleConfirmation(InvalidRequest):
    """An answer to another request's question, to one that was never asked, or to one that is too old."""


class StaleConnection(InvalidRequest):
    """A browser that returns from a provider without having been sent there, a second time, or too late."""


class FormRefused(InvalidRequest):
    """A form that no page of the person's session has sent."""


class InvalidPolicies(InvalidRequest):
    """Policies that cannot be saved as a whole."""


class InvalidPolicy(InvalidPolicies):
    """A policy with which its organization's policies cannot be saved; `problems` lists all of them."""


class LastAdministrator(InvalidRequest, code="CONFLICT", status=409):
    """A change that would leave an organization without an administrator."""


class RoleInUse(InvalidRequest, code="CONFLICT", status=409):
    """The removal of a role that users still have."""


class UnknownAccount(InvalidRequest):
    """The label of an account that the caller does not have."""


class AccountNotChosen(InvalidRequest):
    """Several accounts of which none is the default, and none is named."""


class UnsupportedDelivery(InvalidRequest):
    """A subscription to events in a way in which they are not delivered."""


class CallbackFailed(InvalidRequest):
    """A callback that did not accept a message; `reason` says why in the protocol's words, `problem` in ours."""

    http_status: int = 0
    """The status that it answered, 0 for none; it is not shown, since it would tell of what the caller cannot reach."""


class GrantsRemain(InvalidRequest, code="CONFLICT", status=409):
    """The removal, or the change into another person, of an owner of connected accounts."""


class NotAList(InvalidRequest):
    """An `each` over a value that is not a list."""


class TooManyElements(InvalidRequest):
    """An `each` over a list that exceeds the limit of the step or of the batch."""


class AuthenticationError(CallerError, code="AUTHENTICATION_ERROR", status=401):
    """No valid access token."""


class TokenMissing(AuthenticationError):
    """A request without an access token, such as a client's first one."""


class ModuleNotFound(CallerError, code="MODULE_NOT_FOUND", status=404):
    """A module that does not exist."""


class CategoryNotFound(ModuleNotFound):
    """A category of upstream servers that does not exist."""


class NotRegistered(ModuleNotFound):
    """A module that was not registered for the organization: there is none, or it is the deployment's."""


class ToolNotFound(CallerError, code="TOOL_NOT_FOUND", status=404):
    """A tool that does not exist."""


class UnknownToolName(ToolNotFound):
    """A name of the REST API that means no tool."""


class FileNotFound(CallerError, code="FILE_NOT_FOUND", status=404):
    """A document or a file that does not exist."""


class FileExpired(FileNotFound):
    """A file whose days are over."""


class BatchNotFound(CallerError, code="BATCH_NOT_FOUND", status=404):
    """A batch that does not exist, has expired, or belongs to somebody else."""


class EventTypeNotFound(CallerError, code="EVENT_TYPE_NOT_FOUND", status=404):
    """An event type that does not exist."""


class SubscriptionNotFound(CallerError, code="SUBSCRIPTION_NOT_FOUND", status=404):
    """A subscription to events that does not exist, has ended, or is somebody else's."""


class AutomationNotFound(CallerError, code="AUTOMATION_NOT_FOUND", status=404):
    """An automation that does not exist, or belongs to somebody else."""


class UserNotFound(CallerError, code="USER_NOT_FOUND", status=404):
    """A user that the organization does not have."""


class GroupNotFound(CallerError, code="GROUP_NOT_FOUND", status=404):
    """The company's directory has no such group here."""


class InvitationNotFound(CallerError, code="INVITATION_NOT_FOUND", status=404):
    """An invitation that was used or withdrawn, whose time is over, or that nobody made."""


class RoleNotFound(CallerError, code="ROLE_NOT_FOUND", status=404):
    """A role that the organization does not have."""


class AuditRowNotFound(CallerError, code="AUDIT_ROW_NOT_FOUND", status=404):
    """A row of the audit that does not exist, has expired, or is about somebody else."""


class ChangeNotFound(CallerError, code="CHANGE_NOT_FOUND", status=404):
    """No change of this caller has this id, or its days are over."""


class RouteNotFound(CallerError, code="NOT_FOUND", status=404):
    """A path that the REST API does not have."""


class PageNotFound(RouteNotFound):
    """A page that the console does not have."""


class MethodNotAllowed(CallerError, code="METHOD_NOT_ALLOWED", status=405):
    """A method that a path of the REST API does not have; `allowed` lists those that it has."""


class UnsupportedMediaType(CallerError, code="UNSUPPORTED_MEDIA_TYPE", status=415):
    """A body that is not JSON."""


class SourceNotFound(RouteNotFound):
    """A source of events that does not exist, or that is somebody else's."""


class CompanyLoginNotFound(RouteNotFound):
    """The company login of a domain for which the organization has none."""


class ConnectionNotFound(CallerError, code="CONNECTION_NOT_FOUND", status=404):
    """An account that is not connected, or belongs to somebody else."""


class RangeNotSatisfiable(CallerError, code="RANGE_NOT_SATISFIABLE", status=416):
    """A range of bytes that a file does not have."""


class ConfirmationRequired(CallerError, code="CONFIRMATION_REQUIRED", status=428):
    """A destructive request that the user has not agreed to; `destructive` lists what it destroys."""


class ConfirmationPending(ConfirmationRequired):
    """The user must answer a stored question first; `confirmation` is its id."""

    uses: tuple[str, ...] = ()
    """What is destroyed, a line for each use."""


class ConfirmationDeclined(ConfirmationRequired):
    """The user was asked, and did not agree."""


class UnseenTarget(ConfirmationRequired):
    """A step or an element that would destroy something else than what its user was shown."""


class ChangeConfirmationRequired(ConfirmationRequired):
    """A request of which nobody has said whether it destroys, and that the user has not agreed to."""


class ChangeConfirmationPending(ConfirmationPending):
    """The user must answer first whether something may be changed."""


class AgreementRequired(ConfirmationRequired):
    """A request to which the user must agree, as its tool or a policy says, though it destroys nothing."""


class AgreementPending(ConfirmationPending):
    """The user must answer first, though nothing is destroyed."""


class ApprovalPending(CallerError, code="APPROVAL_REQUIRED", status=428):
    """A destructive request that waits for a person in the console; `approval_id` names it."""


class ApprovalDeclined(ApprovalPending):
    """A person has declined the request, and says why."""


class ApprovalEnded(ApprovalPending):
    """An approval that nobody gave or used in time, or that was cancelled."""


class ApprovalNotFound(CallerError, code="APPROVAL_NOT_FOUND", status=404):
    """An approval that does not exist, or that others decide about."""


class Conflict(CallerError, code="CONFLICT", status=409):
    """Something that another request has changed in the meantime."""


class AlreadyExists(Conflict):
    """The creation of something whose name is taken."""


class TooManyInterests(Conflict):
    """As many subscriptions and automations of a user listen to events as may."""


class AlreadyResumed(Conflict):
    """The resumption of a batch that another one resumes already; `by` is its id."""


class NotUndoable(Conflict):
    """An undo of a change that nothing undoes; `problem` says why."""


class NothingToUndo(NotUndoable):
    """An undo that finds no change that it could undo."""


class AlreadyUndone(Conflict):
    """A second undo of one change."""


class TargetChanged(Conflict):
    """An undo of a change whose target somebody else has changed since."""


class ApprovalDecided(Conflict):
    """An approval about which somebody else has decided, or which has ended."""


class VersionChanged(Conflict, code="PRECONDITION_FAILED", status=412):
    """A change of a version that is not the present one any more."""


class RequestInProgress(Conflict):
    """A request whose idempotency key another one holds that is running."""


class AnswerNotKept(Conflict):
    """A request whose first answer is not known any more: it was interrupted, or its answer is shown only once."""


class IdempotencyKeyReused(CallerError, code="IDEMPOTENCY_KEY_REUSED", status=422):
    """An idempotency key that another request has used, or the same one with other permissions."""


class PayloadTooLarge(CallerError, code="PAYLOAD_TOO_LARGE", status=413):
    """A request over the size limit."""


class AnswerTooLarge(PayloadTooLarge):
    """A service's answer over the size limit; the request may have succeeded."""


class FileTooLarge(PayloadTooLarge):
    """A file that is too large to be read in a function's memory."""


class AdministratorError(McpistError):
    """The caller's roles do not allow the request, or the operator has not configured what it needs."""


class AuthorizationError(AdministratorError, code="AUTHORIZATION_ERROR", status=403):
    """Not allowed by the caller's roles; the text is the same for names that exist only for others."""


class MembershipRequired(AuthorizationError):
    """A valid subject without a membership in the organization."""


class AcceptanceRequired(MembershipRequired):
    """A subject whose person has not accepted the membership yet."""


class ClientNotAllowed(AuthorizationError):
    """A client that is not among those which the organization allows."""


class OrganizationAmbiguous(AuthorizationError):
    """A member of several organizations has not named one."""


class ApprovalByProgram(AuthorizationError):
    """A program tried to approve: only a person who is signed in to the console does."""


class SecondPersonRequired(AuthorizationError):
    """The person who requested a use cannot approve it."""


class ReadingOnly(AuthorizationError):
    """A tool that the caller's roles permit, at an address that serves only those that read."""


class OriginNotAllowed(AdministratorError, code="ORIGIN_NOT_ALLOWED", status=403):
    """A preflight of a web page whose origin the operator does not allow."""


class ToolDisabled(AdministratorError, code="TOOL_DISABLED", status=403):
    """Switched off for the whole organization."""


class DisabledByOperator(ToolDisabled):
    """A tool of an upstream server that the operator's file switches off, for all organizations."""


class ApprovalRequired(ToolDisabled):
    """A tool of an upstream server that is new, or has changed since it was approved."""


class NameTaken(ToolDisabled):
    """A tool of a registered module whose name the deployment gave to a module of its own later."""


class AccountsOfAnother(NameTaken):
    """A module of the deployment whose accounts were connected for a registered module of the same name."""


class PolicyRefused(AdministratorError, code="POLICY_REFUSED", status=403):
    """Forbidden by a policy of the organization, which `policy` names; `reason` is the policy's own message."""


class NoPolicyPermits(PolicyRefused):
    """A use that none of the organization's policies permits."""


class PolicyUnasked(PolicyRefused):
    """A step that a policy permits only with a person's agreement, for which its batch did not ask."""


class PolicyFailed(PolicyRefused):
    """A use of which the policies could not be evaluated."""


class NotConfigured(AdministratorError, code="NOT_CONFIGURED", status=503):
    """A service whose app is not set up here, or is set up wrongly."""


class ProgramUnavailable(NotConfigured):
    """A program that is missing, not executable, or made for another machine."""


class UpstreamSecretMissing(NotConfigured):
    """An upstream server whose secret was not stored."""


class AccountError(McpistError, status=409):
    """The service's account needs the user."""


class ConnectionRequired(AccountError, code="CONNECTION_REQUIRED"):
    """No account of this service is connected."""


class ReconnectRequired(AccountError, code="RECONNECT_REQUIRED"):
    """The stored account no longer works."""


class ScopeMissing(AccountError, code="SCOPE_MISSING"):
    """The account was connected without a permission that the tool needs."""


class UnnamedScopeMissing(ScopeMissing):
    """The account lacks a permission, and its service does not say which."""


class TransientError(McpistError):
    """The same request may succeed later."""

    retryable = True


class Timeout(TransientError, code="TIMEOUT", status=408):
    """The service did not answer in time."""


class RequestTimeout(Timeout):
    """The whole request took longer than a function may run."""


class RateLimitExceeded(TransientError, code="RATE_LIMIT_EXCEEDED", status=429):
    """Too many requests; `retry_after` is in seconds."""


class UserLimitReached(RateLimitExceeded):
    """More requests than one user may send in a minute."""


class TooManyInFlight(RateLimitExceeded):
    """More requests at the same time than one user, or one organization, may have."""


class TooManyBatches(RateLimitExceeded):
    """More batches at the same time than one user, or one organization, may have running."""


class StepLimitReached(RateLimitExceeded):
    """More steps than one organization may run in a day."""


class DayLimitReached(RateLimitExceeded):
    """More calls, seconds of programs or bytes than one organization may have in a day; `measure` says which."""


class TooManyApprovals(RateLimitExceeded):
    """As many requests of a user wait for an approval as may."""


class ExecutionsExhausted(RateLimitExceeded):
    """The AWS account runs as many functions at once as it may, so that nothing has happened."""


class UpstreamUnavailable(TransientError, code="UPSTREAM_UNAVAILABLE", status=503):
    """The service cannot be reached or is out of order."""


class SchemaFetchError(TransientError, code="SCHEMA_FETCH_ERROR", status=503):
    """An upstream's list of tools could not be read, and there is no earlier one."""


class StoreUnavailable(TransientError, code="STORE_UNAVAILABLE", status=503):
    """A store of our own did not answer."""


class NewerFormat(StoreUnavailable):
    """A batch of a newer release, read by an older one during a deployment."""


class AnswerWithheld(StoreUnavailable):
    """The audit row of a use could not be written, and the owner demands one for each answer."""


class ToolExecutionError(McpistError, code="TOOL_EXECUTION_ERROR", status=500):
    """The service refused the request; the message is the service's own."""


class UpstreamCallError(ToolExecutionError):
    """A tool of an upstream server answered that it failed; `result` is that answer."""

    result: Mapping[str, Any] | None = None


class ProgramFailed(ToolExecutionError):
    """A program ended with an exit code other than 0; `problem` is the end of its standard error."""


class ProgramKilled(ToolExecutionError):
    """A signal ended a program."""


class ProgramLimitReached(ToolExecutionError):
    """A program was killed since it used more than its limits allow."""


class OutputRefused(ToolExecutionError):
    """A program left a file that is not taken: a link, a strange name, too many, or none where one is required."""


class DefectError(McpistError):
    """A fault on our side."""


class InvalidConfiguration(DefectError, code="VALIDATION_ERROR", status=400):
    """The operator's configuration is wrong; `field` is the place in the file."""


class IntegrityError(DefectError, code="INTEGRITY_ERROR", status=500):
    """A stored value that fails its integrity check."""


class InternalError(DefectError, code="INTERNAL_ERROR", status=500):
    """A defect; the log has more under the request id."""
