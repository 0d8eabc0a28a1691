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
│   │   ├── LastAdministrator
│   │   ├── RoleInUse
│   │   └── GrantsRemain
│   ├── AuthenticationError        AUTHENTICATION_ERROR 401
│   │   └── TokenMissing
│   ├── ModuleNotFound             MODULE_NOT_FOUND 404
│   │   └── NotRegistered
│   ├── ToolNotFound               TOOL_NOT_FOUND 404
│   │   └── UnknownToolName
│   ├── FileNotFound               FILE_NOT_FOUND 404
│   │   └── FileExpired
│   ├── BatchNotFound              BATCH_NOT_FOUND 404
│   ├── RouteNotFound              NOT_FOUND 404
│   │   └── PageNotFound
│   ├── MethodNotAllowed           METHOD_NOT_ALLOWED 405
│   ├── UnsupportedMediaType       UNSUPPORTED_MEDIA_TYPE 415
│   ├── ConnectionNotFound         CONNECTION_NOT_FOUND 404
│   ├── RangeNotSatisfiable        RANGE_NOT_SATISFIABLE 416
│   ├── ConfirmationRequired       CONFIRMATION_REQUIRED 428
│   │   ├── ConfirmationPending
│   │   └── ConfirmationDeclined
│   ├── UserNotFound               USER_NOT_FOUND 404
│   ├── InvitationNotFound         INVITATION_NOT_FOUND 404
│   ├── RoleNotFound               ROLE_NOT_FOUND 404
│   ├── AuditRowNotFound           AUDIT_ROW_NOT_FOUND 404
│   ├── Conflict                   CONFLICT 409
│   │   ├── AlreadyExists
│   │   └── RequestInProgress
│   └── PayloadTooLarge            PAYLOAD_TOO_LARGE 413
│       ├── AnswerTooLarge
│       └── FileTooLarge
├── AdministratorError             an administrator changes a permission or the configuration
│   ├── AuthorizationError         AUTHORIZATION_ERROR 403
│   │   ├── MembershipRequired
│   │   ├── OrganizationAmbiguous
│   │   └── ReadingOnly
│   ├── ToolDisabled               TOOL_DISABLED 403
│   │   ├── DisabledByOperator
│   │   └── ApprovalRequired
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
│   │   ├── StepLimitReached
│   │   └── ExecutionsExhausted
│   ├── UpstreamUnavailable        UPSTREAM_UNAVAILABLE 503
│   ├── SchemaFetchError           SCHEMA_FETCH_ERROR 503
│   └── StoreUnavailable           STORE_UNAVAILABLE 503
│       └── NewerFormat
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

The texts stand in `error_texts`, a file per language; an error's details are the values that fill them.
"""

from collections.abc import Mapping
from typing import Any

from mcpist.error_base import Locale as Locale
from mcpist.error_base import McpistError as McpistError
from mcpist.error_base import concrete_errors as concrete_errors
from mcpist.error_base import from_message as from_message
from mcpist.error_base import to_message as to_message

# -- the caller changes the request -------------------------------------------------------------------


class CallerError(McpistError):
    """The request cannot be served as it is."""


class InvalidRequest(CallerError):
    """Something in the request has the wrong shape; `field` says where."""

    code, status = "VALIDATION_ERROR", 400


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


class LastAdministrator(InvalidRequest):
    """A change that would leave an organization without an administrator."""


class RoleInUse(InvalidRequest):
    """The removal of a role that users still have."""


class GrantsRemain(InvalidRequest):
    """The removal of a user or a role for which accounts are still connected."""


class NotAList(InvalidRequest):
    """An `each` over a value that is not a list."""


class TooManyElements(InvalidRequest):
    """An `each` over a list that exceeds the limit of the step or of the batch."""


class AuthenticationError(CallerError):
    """No valid access token."""

    code, status = "AUTHENTICATION_ERROR", 401


class TokenMissing(AuthenticationError):
    """A request without an access token, such as a client's first one."""


class ModuleNotFound(CallerError):
    """A module that does not exist."""

    code, status = "MODULE_NOT_FOUND", 404


class NotRegistered(ModuleNotFound):
    """A module that was not registered for the organization: there is none, or it is the deployment's."""


class ToolNotFound(CallerError):
    """A tool that does not exist."""

    code, status = "TOOL_NOT_FOUND", 404


class UnknownToolName(ToolNotFound):
    """A name of the REST API that means no tool."""


class FileNotFound(CallerError):
    """A document or a file that does not exist."""

    code, status = "FILE_NOT_FOUND", 404


class FileExpired(FileNotFound):
    """A file whose days are over."""


class BatchNotFound(CallerError):
    """A batch that does not exist, has expired, or belongs to somebody else."""

    code, status = "BATCH_NOT_FOUND", 404


class UserNotFound(CallerError):
    """A user that the organization does not have."""

    code, status = "USER_NOT_FOUND", 404


class InvitationNotFound(CallerError):
    """An invitation that was used or withdrawn, whose time is over, or that nobody made."""

    code, status = "INVITATION_NOT_FOUND", 404


class RoleNotFound(CallerError):
    """A role that the organization does not have."""

    code, status = "ROLE_NOT_FOUND", 404


class AuditRowNotFound(CallerError):
    """A row of the audit that does not exist, has expired, or is about somebody else."""

    code, status = "AUDIT_ROW_NOT_FOUND", 404


class RouteNotFound(CallerError):
    """A path that the REST API does not have."""

    code, status = "NOT_FOUND", 404


class PageNotFound(RouteNotFound):
    """A page that the console does not have."""


class MethodNotAllowed(CallerError):
    """A method that a path of the REST API does not have; `allowed` lists those that it has."""

    code, status = "METHOD_NOT_ALLOWED", 405


class UnsupportedMediaType(CallerError):
    """A body that is not JSON."""

    code, status = "UNSUPPORTED_MEDIA_TYPE", 415


class ConnectionNotFound(CallerError):
    """An account that is not connected, or belongs to somebody else."""

    code, status = "CONNECTION_NOT_FOUND", 404


class RangeNotSatisfiable(CallerError):
    """A range of bytes that a file does not have."""

    code, status = "RANGE_NOT_SATISFIABLE", 416


class ConfirmationRequired(CallerError):
    """A destructive request that the user has not agreed to; `destructive` lists what it destroys."""

    code, status = "CONFIRMATION_REQUIRED", 428


class ConfirmationPending(ConfirmationRequired):
    """The user must answer a stored question first; `confirmation` is its id."""

    uses: tuple[str, ...] = ()
    """What is destroyed, a line for each use."""


class ConfirmationDeclined(ConfirmationRequired):
    """The user was asked, and did not agree."""


class Conflict(CallerError):
    """Something that another request has changed in the meantime."""

    code, status = "CONFLICT", 409


class AlreadyExists(Conflict):
    """The creation of something whose name is taken."""


class RequestInProgress(Conflict):
    """A request whose idempotency key another one holds, which is running or was lost."""


class PayloadTooLarge(CallerError):
    """A request over the size limit."""

    code, status = "PAYLOAD_TOO_LARGE", 413


class AnswerTooLarge(PayloadTooLarge):
    """A service's answer over the size limit; the request may have succeeded."""


class FileTooLarge(PayloadTooLarge):
    """A file that is too large to be read in a function's memory."""


# -- an administrator changes a permission or the configuration ---------------------------------------


class AdministratorError(McpistError):
    """The caller's roles do not allow the request, or the operator has not configured what it needs."""


class AuthorizationError(AdministratorError):
    """Not allowed by the caller's roles; the text is the same for names that exist only for others."""

    code, status = "AUTHORIZATION_ERROR", 403


class MembershipRequired(AuthorizationError):
    """A valid subject without a membership in the organization."""


class OrganizationAmbiguous(AuthorizationError):
    """A member of several organizations has not named one."""


class ReadingOnly(AuthorizationError):
    """A tool that the caller's roles permit, at an address that serves only those that read."""


class ToolDisabled(AdministratorError):
    """Switched off for the whole organization."""

    code, status = "TOOL_DISABLED", 403


class DisabledByOperator(ToolDisabled):
    """A tool of an upstream server that the operator's file switches off, for all organizations."""


class ApprovalRequired(ToolDisabled):
    """A tool of an upstream server that is new, or has changed since it was approved."""


class NotConfigured(AdministratorError):
    """A service whose app is not set up here, or is set up wrongly."""

    code, status = "NOT_CONFIGURED", 503


class ProgramUnavailable(NotConfigured):
    """A program that is missing, not executable, or made for another machine."""


class UpstreamSecretMissing(NotConfigured):
    """An upstream server whose secret was not stored."""


# -- the user connects an account ---------------------------------------------------------------------


class AccountError(McpistError):
    """The service's account needs the user."""

    status = 409


class ConnectionRequired(AccountError):
    """No account of this service is connected."""

    code = "CONNECTION_REQUIRED"


class ReconnectRequired(AccountError):
    """The stored account no longer works."""

    code = "RECONNECT_REQUIRED"


class ScopeMissing(AccountError):
    """The account was connected without a permission that the tool needs."""

    code = "SCOPE_MISSING"


class UnnamedScopeMissing(ScopeMissing):
    """The account lacks a permission, and its service does not say which."""


# -- nobody: trying again helps -----------------------------------------------------------------------


class TransientError(McpistError):
    """The same request may succeed later."""

    retryable = True


class Timeout(TransientError):
    """The service did not answer in time."""

    code, status = "TIMEOUT", 408


class RequestTimeout(Timeout):
    """The whole request took longer than a function may run."""


class RateLimitExceeded(TransientError):
    """Too many requests; `retry_after` is in seconds."""

    code, status = "RATE_LIMIT_EXCEEDED", 429


class UserLimitReached(RateLimitExceeded):
    """More requests than one user may send in a minute."""


class TooManyInFlight(RateLimitExceeded):
    """More requests at the same time than one user, or one organization, may have."""


class StepLimitReached(RateLimitExceeded):
    """More steps than one organization may run in a day."""


class ExecutionsExhausted(RateLimitExceeded):
    """The AWS account runs as many functions at once as it may, so that nothing has happened."""


class UpstreamUnavailable(TransientError):
    """The service cannot be reached or is out of order."""

    code, status = "UPSTREAM_UNAVAILABLE", 503


class SchemaFetchError(TransientError):
    """An upstream's list of tools could not be read, and there is no earlier one."""

    code, status = "SCHEMA_FETCH_ERROR", 503


class StoreUnavailable(TransientError):
    """A store of our own did not answer."""

    code, status = "STORE_UNAVAILABLE", 503


class NewerFormat(StoreUnavailable):
    """A batch of a newer release, read by an older one during a deployment."""


# -- as the service's message says --------------------------------------------------------------------


class ToolExecutionError(McpistError):
    """The service refused the request; the message is the service's own."""

    code, status = "TOOL_EXECUTION_ERROR", 500


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


# -- us -----------------------------------------------------------------------------------------------


class DefectError(McpistError):
    """A fault on our side."""


class InvalidConfiguration(DefectError):
    """The operator's configuration is wrong; `field` is the place in the file."""

    code, status = "VALIDATION_ERROR", 400


class IntegrityError(DefectError):
    """A stored value that fails its integrity check."""

    code, status = "INTEGRITY_ERROR", 500


class InternalError(DefectError):
    """A defect; the log has more under the request id."""

    code, status = "INTERNAL_ERROR", 500
