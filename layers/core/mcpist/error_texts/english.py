"""The errors in English."""

from collections.abc import Mapping

from mcpist.error_texts import Text

LINE_PREFIX = "Line {line}: "

TEXTS: Mapping[str, Text] = {
    # The caller changes the request.
    "InvalidRequest": Text("{field}: {problem}", "Correct the field and send the request again."),
    "InvalidArguments": Text("{module}.{tool}: {field}: {problem}", "Correct the arguments by the tool's schema."),
    "InvalidLine": Text("{field}: {problem}", "Write one JSON object a line: id, module, tool, params."),
    "EmptyBatch": Text("The batch has no steps.", "Send at least one line: id, module, tool, params."),
    "TooManySteps": Text("The batch has {steps} steps; at most {limit} are allowed.", "Split it into several batches."),
    "DuplicateStep": Text('the id "{id}" is taken by line {first_line}.', "Give each step an id of its own."),
    "UnknownStep": Text('{field} names the step "{step}", but no line has this id.', "Ids: {known}."),
    "CyclicSteps": Text("these steps wait for each other: {cycle}.", "Remove one of these dependencies."),
    "UnresolvedReference": Text(
        "{field}: ${{{reference}}} does not resolve: {problem}.", "Correct the reference. {known}"
    ),
    "StaleConfirmation": Text(
        "This answer does not belong to this request, or it is too old.", "Send the request again without it."
    ),
    "StaleConnection": Text(
        "This connection was not started in this browser, or it has ended.", "Start again from the beginning."
    ),
    "FormRefused": Text(
        "This form was not sent by a page of {url} that is still valid.",
        "Open the page again, and repeat what you did.",
    ),
    "LastAdministrator": Text(
        "{organization} would have no administrator.", "Make somebody else an administrator first."
    ),
    "RoleInUse": Text('These users have the role "{name}": {users}.', "Remove the role from them first."),
    "GrantsRemain": Text(
        "Accounts are connected for {name}: {services}.",
        "Disconnect them first, or revoke them with the change (--with-grants, over REST withGrants=true): otherwise "
        "whoever gets this id later can use them.",
    ),
    "NotAList": Text(
        "{field}: {reference} is of the type {kind}, not a list.",
        "Name a list: the items of a step, or a list in its JSON.",
    ),
    "TooManyElements": Text(
        "{field}: {reference} has {elements} elements; at most {limit} are allowed.",
        "Shorten the list, raise each_limit (up to 1,000), or split the batch: it may have 1,000 elements in all.",
    ),
    "AuthenticationError": Text(
        "A valid access token is needed: {problem}.", "Log in again to get a new access token."
    ),
    "TokenMissing": Text("No access token was sent.", "Log in: the header WWW-Authenticate says where."),
    "ModuleNotFound": Text('There is no module "{module}".', "Modules: {known}."),
    "NotRegistered": Text(
        'No module "{module}" was registered for this organization.', "Modules that were registered: {known}."
    ),
    "ToolNotFound": Text('The module "{module}" has no tool "{tool}".', "Tools: {known}."),
    "UnknownToolName": Text("Tool not found: {name}", "Tools: {known}. GET /v1/tools lists all of yours."),
    "RouteNotFound": Text("There is no {method} {path}.", "GET /v1/openapi.json lists every route."),
    "PageNotFound": Text("There is no page {path}.", "Start again at the first page."),
    "MethodNotAllowed": Text("{path} does not take {method}.", "It takes {allowed}."),
    "UnsupportedMediaType": Text("The body is {media_type}.", "Send application/json."),
    "ConnectionNotFound": Text('There is no account "{id}".', "GET /v1/connections lists those that you have."),
    "RangeNotSatisfiable": Text("The file has no bytes {range}.", "It has {size_bytes} bytes."),
    "RequestInProgress": Text(
        "A request with the same {header} is running, or was lost.",
        "Send it again in some seconds. If this error stays, look at what happened before you use another key.",
    ),
    "FileNotFound": Text('There is no file "{path}".', "Take a path from an answer, a search or a list."),
    "FileExpired": Text(
        'The file "{path}" was kept until {expired_at}.', "Run what made it again, or ask for more days (FileDays)."
    ),
    "BatchNotFound": Text(
        'There is no batch "{batch}".', "Batches are kept for a day and shown only to the user who started them."
    ),
    "ConfirmationRequired": Text(
        "Nothing has run, because the user has not agreed to what is destroyed: {steps}.",
        "Show the user what is destroyed; if they agree, send the request again with confirm: true.",
    ),
    "ConfirmationPending": Text(
        "Nothing has run, because the user has not agreed to what is destroyed: {steps}.",
        'Show the user what is destroyed; if they agree, send the same request again with "confirmation": '
        '"{confirmation}", or confirm the batch of this id.',
    ),
    "ConfirmationDeclined": Text(
        "Nothing has run: the user did not agree to {steps}.", "Ask the user what to do instead."
    ),
    "Conflict": Text("In the meantime {what} has changed.", "Look at it again, and try again if you still want to."),
    "AlreadyExists": Text('There is a {kind} "{name}" already.', "Choose another name, or change the existing one."),
    "UserNotFound": Text('There is no user "{name}".', "Users: {known}."),
    "InvitationNotFound": Text('No invitation of "{name}" waits.', "Invitations that wait: {known}."),
    "RoleNotFound": Text('There is no role "{name}".', "Roles: {known}."),
    "AuditRowNotFound": Text('There is no audit row "{row}".', "A row is named by the `id` that the audit shows."),
    "PayloadTooLarge": Text(
        "The request has {size_bytes} bytes; at most {limit_bytes} are allowed.", "Send less at once."
    ),
    "AnswerTooLarge": Text("The answer of {service} is larger than {limit_bytes} bytes.", "Ask for less at once."),
    "FileTooLarge": Text(
        'The file "{path}" has {size_bytes} bytes; at most {limit_bytes} can be read.',
        "Make a smaller file: ask its tool for less, or for one page at a time.",
    ),
    # An administrator changes a permission or the configuration.
    "AuthorizationError": Text(
        '"{name}" is not available to you.', "Ask an administrator of your organization for access."
    ),
    "MembershipRequired": Text("You are not a member of an organization here.", "Ask an administrator to add you."),
    "OrganizationAmbiguous": Text(
        "You are a member of several organizations: {known}.", "Choose one: use /mcp/<organization>."
    ),
    "ReadingOnly": Text(
        '"{name}" changes something, and only tools that read are served at this address.',
        "Use the same address without /readonly.",
    ),
    "ToolDisabled": Text('"{name}" is switched off in your organization.', "Ask an administrator to switch it on."),
    "DisabledByOperator": Text(
        '"{name}" is switched off in the file of the upstream servers.',
        "Ask the operator to name it in includeNames there, or to enable it by an override.",
    ),
    "ApprovalRequired": Text(
        '"{name}" waits for approval: {problem}.', "Ask the operator to review it and run `mcpist upstream approve`."
    ),
    "NotConfigured": Text("{service} is not set up here: {problem}.", "Ask an administrator to set up its app."),
    "ProgramUnavailable": Text(
        "The program {program} does not run here: {problem}.", "Tell the operator: its declaration or package is wrong."
    ),
    "UpstreamSecretMissing": Text(
        "{service} is not set up here: its secret {parameter} was not stored.",
        "Tell the operator to store it: mcpist upstream secret set {secret}",
    ),
    # The user connects an account.
    "ConnectionRequired": Text("No {service} account is connected.", "Connect one: {url}"),
    "ReconnectRequired": Text("The connected {service} account is no longer accepted.", "Connect it again: {url}"),
    "ScopeMissing": Text(
        "The {service} account lacks the permission {scope}.", "Connect it again with this permission: {url}"
    ),
    "UnnamedScopeMissing": Text(
        "The {service} account lacks a permission that this needs: {problem}",
        "Connect it again with all permissions: {url}",
    ),
    # Nobody: trying again helps.
    "Timeout": Text("{service} did not answer within {seconds} s.", "Try again."),
    "RequestTimeout": Text(
        "The request could not be answered within {seconds} s.",
        "What it writes may have happened. Ask for less at once, or run it in a batch, which may take longer.",
    ),
    "RateLimitExceeded": Text("{service} limits the rate of requests.", "Try again in {retry_after} s."),
    "UserLimitReached": Text(
        "You have sent the {limit} requests that a user may send in a minute.", "Wait {retry_after} s."
    ),
    "TooManyInFlight": Text(
        "Too many requests are in flight: you or your organization may have {limit} at the same time.",
        "Try again in {retry_after} s, with fewer requests at once; a batch runs many calls in one request.",
    ),
    "ExecutionsExhausted": Text(
        "The deployment runs as many functions at once as its AWS account may.",
        "Try again in {retry_after} s. If this is frequent, an administrator asks AWS for more concurrent executions.",
    ),
    "StepLimitReached": Text(
        "This takes {steps} steps, and {used} of the {limit} that your organization may run today are used.",
        "Run fewer steps, or wait {retry_after} s: days end at midnight UTC.",
    ),
    "UpstreamUnavailable": Text("{service} is not available: {problem}.", "Try again later."),
    "SchemaFetchError": Text("The tools of {service} could not be read: {problem}.", "Try again later."),
    "StoreUnavailable": Text("The store is not available ({store}).", "Try again later."),
    "NewerFormat": Text(
        "The batch was written by a newer release ({format}) than this one ({known}).", "Try again soon."
    ),
    # The service's message says who acts.
    "ToolExecutionError": Text(
        "{service} answered {http_status}: {problem}", "Read the service's message and correct the call."
    ),
    "ProgramFailed": Text(
        "{program} ended with exit code {exit_code}: {problem}", "Read the program's message and correct the arguments."
    ),
    "ProgramKilled": Text(
        "{program} was ended by {signal}: {problem}", "Correct the arguments, or give it less to do."
    ),
    "ProgramLimitReached": Text(
        "{program} was ended, because it went past its limit of {limit} {resource}.", "Give it less to do at once."
    ),
    "OutputRefused": Text("{program} left an output that is not taken: {problem}.", "Tell the program's owner."),
    "UpstreamCallError": Text("{service} answered: {problem}", "Read the server's message and correct the call."),
    # The operator.
    "InvalidConfiguration": Text(
        "{path}: {field}: {problem}", "Correct the file, and check it with `mcpist upstream check FILE`."
    ),
    "IntegrityError": Text("A stored value did not pass its integrity check ({what}).", "Tell the operator."),
    "InternalError": Text(
        "Something went wrong on our side.", "Try again; tell the operator the request id {request_id}."
    ),
}
