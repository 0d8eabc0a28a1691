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
│   │   ├── LastAdministrator
│   │   ├── RoleInUse
│   │   └── GrantsRemain
│   ├── AuthenticationError        AUTHENTICATION_ERROR 401
│   │   └── TokenMissing
│   ├── ModuleNotFound             MODULE_NOT_FOUND 404
│   ├── ToolNotFound               TOOL_NOT_FOUND 404
│   ├── FileNotFound               FILE_NOT_FOUND 404
│   ├── BatchNotFound              BATCH_NOT_FOUND 404
│   ├── ConfirmationRequired       CONFIRMATION_REQUIRED 428
│   │   └── ConfirmationDeclined
│   ├── Conflict                   CONFLICT 409
│   └── PayloadTooLarge            PAYLOAD_TOO_LARGE 413
│       └── AnswerTooLarge
├── AdministratorError             an administrator changes a permission or the configuration
│   ├── AuthorizationError         AUTHORIZATION_ERROR 403
│   │   ├── MembershipRequired
│   │   └── OrganizationAmbiguous
│   ├── ToolDisabled               TOOL_DISABLED 403
│   │   └── ApprovalRequired
│   └── NotConfigured              NOT_CONFIGURED 503
├── AccountError                   the user connects an account
│   ├── ConnectionRequired         CONNECTION_REQUIRED 409
│   ├── ReconnectRequired          RECONNECT_REQUIRED 409
│   └── ScopeMissing               SCOPE_MISSING 409
│       └── UnnamedScopeMissing
├── TransientError                 nobody: trying again helps
│   ├── Timeout                    TIMEOUT 408
│   ├── RateLimitExceeded          RATE_LIMIT_EXCEEDED 429
│   │   ├── UserLimitReached
│   │   └── StepLimitReached
│   ├── UpstreamUnavailable        UPSTREAM_UNAVAILABLE 503
│   ├── SchemaFetchError           SCHEMA_FETCH_ERROR 503
│   └── StoreUnavailable           STORE_UNAVAILABLE 503
│       └── NewerFormat
├── ToolExecutionError             TOOL_EXECUTION_ERROR 500, as the service's message says
│   └── UpstreamCallError
└── DefectError                    us
    ├── InvalidConfiguration       VALIDATION_ERROR 400
    ├── IntegrityError             INTEGRITY_ERROR 500
    └── InternalError              INTERNAL_ERROR 500

An error's text is a template in English and Japanese; its details are the values that fill it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Self

type Locale = Literal["en", "ja"]


class Text(NamedTuple):
    """What happened, and what to do about it."""

    message: str
    hint: str


_LINE_PREFIX: Mapping[Locale, str] = {"en": "Line {line}: ", "ja": "{line} 行目: "}


class McpistError(Exception):
    """An error that is safe to show; its details hold no secret."""

    code: ClassVar[str]
    status: ClassVar[int]
    retryable: ClassVar[bool] = False
    texts: ClassVar[Mapping[Locale, Text]]

    def __init__(self, **details: Any) -> None:
        self.details = details
        super().__init__(self.text().message)

    def text(self, locale: Locale = "en") -> Text:
        """The message and the hint in one language."""
        message, hint = self.texts[locale]
        where = _LINE_PREFIX[locale].format_map(self.details) if "line" in self.details else ""
        return Text(where + message.format_map(self.details), hint.format_map(self.details))

    def as_dict(self, locale: Locale = "en") -> dict[str, Any]:
        """`{code, message, hint, details}` as every door answers it, with `retryable` in the details where it is so.

        Who tries again what may have happened does it twice.
        """
        details = {name: _detail_as_dict(value, locale) for name, value in self.details.items()}
        if self.retryable and not self.details.get("may_have_happened"):
            details["retryable"] = True
        return {"code": self.code, **self.text(locale)._asdict(), "details": details}

    def with_details(self, **details: Any) -> Self:
        """The same error with the place it arose at: the line and id of a step."""
        self.details = {**self.details, **details}
        return self


def _detail_as_dict(detail: Any, locale: Locale) -> Any:
    """A detail as a door shows it: among them may be more errors, such as a batch's other problems."""
    if isinstance(detail, McpistError):
        return detail.as_dict(locale)
    return [_detail_as_dict(inner, locale) for inner in detail] if isinstance(detail, list) else detail


# -- the caller changes the request -------------------------------------------------------------------


class CallerError(McpistError):
    """The request cannot be served as it is."""


class InvalidRequest(CallerError):
    """Something in the request has the wrong shape; `field` says where."""

    code, status = "VALIDATION_ERROR", 400
    texts = {
        "en": Text("{field}: {problem}", "Correct the field and send the request again."),
        "ja": Text("{field}: {problem}", "この項目を直して、もう一度送ってください。"),
    }


class InvalidArguments(InvalidRequest):
    """Arguments that the tool's schema refuses."""

    texts = {
        "en": Text("{module}.{tool}: {field}: {problem}", "Correct the arguments by the tool's schema."),
        "ja": Text("{module}.{tool}: {field}: {problem}", "ツールのスキーマに合わせて引数を直してください。"),
    }


class InvalidBatch(InvalidRequest):
    """A batch that is refused before anything runs."""


class InvalidLine(InvalidBatch):
    """A line of JSONL that is no step."""

    texts = {
        "en": Text("{field}: {problem}", "Write one JSON object a line: id, module, tool, params."),
        "ja": Text("{field}: {problem}", "1 行に 1 つの JSON オブジェクト(id、module、tool、params)を書いてください。"),
    }


class EmptyBatch(InvalidBatch):
    """No step at all."""

    texts = {
        "en": Text("The batch has no steps.", "Send at least one line: id, module, tool, params."),
        "ja": Text("バッチにステップがありません。", "id、module、tool、params を持つ行を 1 行以上送ってください。"),
    }


class TooManySteps(InvalidBatch):
    """More steps than a batch may have."""

    texts = {
        "en": Text("The batch has {steps} steps; at most {limit} are allowed.", "Split it into several batches."),
        "ja": Text("ステップが {steps} 個あります。上限は {limit} 個です。", "複数のバッチに分けてください。"),
    }


class DuplicateStep(InvalidBatch):
    """Two lines with the same id."""

    texts = {
        "en": Text('the id "{id}" is taken by line {first_line}.', "Give each step an id of its own."),
        "ja": Text("id「{id}」は {first_line} 行目と同じです。", "ステップごとに別の id を付けてください。"),
    }


class UnknownStep(InvalidBatch):
    """A need or a reference to a step that is not in the batch."""

    texts = {
        "en": Text('{field} names the step "{step}", but no line has this id.', "Ids: {known}."),
        "ja": Text("{field} のステップ「{step}」は、どの行の id でもありません。", "使える id: {known}。"),
    }


class CyclicSteps(InvalidBatch):
    """Steps that wait for each other."""

    texts = {
        "en": Text("these steps wait for each other: {cycle}.", "Remove one of these dependencies."),
        "ja": Text("ステップが互いを待っています: {cycle}。", "依存関係を 1 つ外してください。"),
    }


class UnresolvedReference(InvalidRequest):
    """A `${step.path}` that leads nowhere."""

    texts = {
        "en": Text("{field}: ${{{reference}}} does not resolve: {problem}.", "Correct it. {known}"),
        "ja": Text("{field}: ${{{reference}}} を解決できません: {problem}。", "参照を直してください。{known}"),
    }


class StaleConfirmation(InvalidRequest):
    """An answer to a question that was not asked, or about another request, or too long ago."""

    texts = {
        "en": Text("This answer is not to this request's question, or too old.", "Send the request again without it."),
        "ja": Text("この回答はこのリクエストのものではないか、古すぎます。", "回答を付けずにもう一度送ってください。"),
    }


class StaleConnection(InvalidRequest):
    """A browser that comes back from where nobody sent it, or comes back twice, or too late."""

    texts = {
        "en": Text("This connection was not begun in this browser, or it has ended.", "Begin again."),
        "ja": Text(
            "この接続はこのブラウザーで始めたものではないか、すでに終わっています。", "最初からやり直してください。"
        ),
    }


class LastAdministrator(InvalidRequest):
    """A change after which an organization had no administrator."""

    texts = {
        "en": Text(
            "{organization} would have no administrator.",
            "Make somebody else an administrator first.",
        ),
        "ja": Text(
            "{organization} に管理者がいなくなります。",
            "先に別のユーザーを管理者にしてください。",
        ),
    }


class RoleInUse(InvalidRequest):
    """A role that is to be removed while users have it."""

    texts = {
        "en": Text('These users have the role "{name}": {users}.', "Take it from them first."),
        "ja": Text("ロール「{name}」を持つユーザーがいます: {users}。", "先にこのロールを外してください。"),
    }


class GrantsRemain(InvalidRequest):
    """A user or a role that is to be removed while accounts are connected for it."""

    texts = {
        "en": Text(
            "Accounts are connected for {name}: {services}.",
            "End them by `mcpist grant kill`, or forget them by --with-grants: who gets this id later would have them.",
        ),
        "ja": Text(
            "{name} に接続済みのアカウントがあります: {services}。",
            "`mcpist grant kill` で切断するか、--with-grants で削除してください。残すと後で同じ ID の人が使えます。",
        ),
    }


class NotAList(InvalidRequest):
    """An `each` that leads to something else than a list."""

    texts = {
        "en": Text(
            "{field}: {reference} is of the type {kind}, not a list.",
            "Name a list: the items of a step, or a list in its JSON.",
        ),
        "ja": Text(
            "{field}: {reference} はリストではありません({kind})。",
            "ステップの items など、リストを指定してください。",
        ),
    }


class TooManyElements(InvalidRequest):
    """An `each` over a longer list than the step, or than the batch, may run over."""

    texts = {
        "en": Text(
            "{field}: {reference} has {elements} elements; at most {limit} are allowed.",
            "Find fewer, raise each_limit (up to 1,000), or split the batch: it may have 1,000 elements in all.",
        ),
        "ja": Text(
            "{field}: {reference} の要素は {elements} 個です。上限は {limit} 個です。",
            "要素を減らすか、each_limit を上げる(バッチ全体で 1,000 まで)か、バッチを分けてください。",
        ),
    }


class AuthenticationError(CallerError):
    """No valid access token."""

    code, status = "AUTHENTICATION_ERROR", 401
    texts = {
        "en": Text("A valid access token is needed: {problem}.", "Log in again to get a new access token."),
        "ja": Text("有効なアクセストークンが必要です: {problem}。", "もう一度ログインしてください。"),
    }


class TokenMissing(AuthenticationError):
    """A request that brings no access token: a client's first."""

    texts = {
        "en": Text("No access token was sent.", "Log in: the challenge says where."),
        "ja": Text("アクセストークンが送られていません。", "ログインしてください。場所は認証要求にあります。"),
    }


class ModuleNotFound(CallerError):
    """A module that does not exist."""

    code, status = "MODULE_NOT_FOUND", 404
    texts = {
        "en": Text('There is no module "{module}".', "Modules: {known}."),
        "ja": Text("モジュール「{module}」はありません。", "使えるモジュール: {known}。"),
    }


class ToolNotFound(CallerError):
    """A tool that does not exist."""

    code, status = "TOOL_NOT_FOUND", 404
    texts = {
        "en": Text('The module "{module}" has no tool "{tool}".', "Tools: {known}."),
        "ja": Text("モジュール「{module}」にツール「{tool}」はありません。", "使えるツール: {known}。"),
    }


class FileNotFound(CallerError):
    """A document or a file that does not exist."""

    code, status = "FILE_NOT_FOUND", 404
    texts = {
        "en": Text('There is no file "{path}".', "Take a path from an answer, a search or a list."),
        "ja": Text("ファイル「{path}」はありません。", "応答、検索、一覧にあるパスを使ってください。"),
    }


class BatchNotFound(CallerError):
    """A batch that does not exist, has expired, or belongs to somebody else."""

    code, status = "BATCH_NOT_FOUND", 404
    texts = {
        "en": Text('There is no batch "{batch}".', "Batches are kept for a day and shown to who started them."),
        "ja": Text("バッチ「{batch}」はありません。", "バッチは 1 日間、開始した人だけに表示されます。"),
    }


class ConfirmationRequired(CallerError):
    """A batch that destroys something, and nobody has agreed to it; `destructive` lists what."""

    code, status = "CONFIRMATION_REQUIRED", 428
    texts = {
        "en": Text(
            "Nothing has run, since the batch destroys: {steps}.",
            "Show the user what it destroys; if they agree, send it again with confirm: true.",
        ),
        "ja": Text(
            "バッチに破壊的なステップがあるため、何も実行していません: {steps}。",
            "内容をユーザーに示し、同意を得てから confirm: true を付けて送ってください。",
        ),
    }


class ConfirmationDeclined(ConfirmationRequired):
    """The user was asked, and did not agree."""

    texts = {
        "en": Text("Nothing has run: the user did not agree to {steps}.", "Ask the user what to do instead."),
        "ja": Text("ユーザーが同意しなかったため、何も実行していません: {steps}。", "代わりの方法を尋ねてください。"),
    }


class Conflict(CallerError):
    """Something that somebody else changed in the meantime."""

    code, status = "CONFLICT", 409
    texts = {
        "en": Text("Meanwhile {what} has changed.", "Look at it again, and try again if you still want to."),
        "ja": Text("対象({what})がその間に変更されました。", "内容を確認して、必要ならもう一度試してください。"),
    }


class PayloadTooLarge(CallerError):
    """A request over the size limit."""

    code, status = "PAYLOAD_TOO_LARGE", 413
    texts = {
        "en": Text("The request has {size_bytes} bytes; at most {limit_bytes} are allowed.", "Send less at once."),
        "ja": Text("リクエストは {size_bytes} バイトです。上限は {limit_bytes} です。", "小さく分けてください。"),
    }


class AnswerTooLarge(PayloadTooLarge):
    """A service's answer over the size limit; what was asked may have been done."""

    texts = {
        "en": Text("The answer of {service} is larger than {limit_bytes} bytes.", "Ask for less at once."),
        "ja": Text("{service} の応答が上限 {limit_bytes} バイトを超えています。", "範囲を絞って取得してください。"),
    }


# -- an administrator changes a permission or the configuration ---------------------------------------


class AdministratorError(McpistError):
    """The caller's roles do not allow it, or the operator has not set it up."""


class AuthorizationError(AdministratorError):
    """Not in the caller's roles; reads the same for names that exist only for others."""

    code, status = "AUTHORIZATION_ERROR", 403
    texts = {
        "en": Text('"{name}" is not available to you.', "Ask an administrator of your organization for access."),
        "ja": Text("「{name}」を使う権限がありません。", "組織の管理者に権限を依頼してください。"),
    }


class MembershipRequired(AuthorizationError):
    """A valid subject without a membership in the organization."""

    texts = {
        "en": Text("You are not a member of an organization here.", "Ask an administrator to add you."),
        "ja": Text("この組織のメンバーではありません。", "管理者に追加を依頼してください。"),
    }


class OrganizationAmbiguous(AuthorizationError):
    """A subject with several organizations that names none."""

    texts = {
        "en": Text("You are a member of several organizations: {known}.", "Choose one: use /mcp/<organization>."),
        "ja": Text("複数の組織のメンバーです: {known}。", "/mcp/<組織> で 1 つを指定してください。"),
    }


class ToolDisabled(AdministratorError):
    """Switched off for the whole organization."""

    code, status = "TOOL_DISABLED", 403
    texts = {
        "en": Text('"{name}" is switched off in your organization.', "Ask an administrator to switch it on."),
        "ja": Text("「{name}」は組織で無効になっています。", "管理者に有効化を依頼してください。"),
    }


class ApprovalRequired(ToolDisabled):
    """A tool of an upstream server that is new, or has changed since it was approved."""

    texts = {
        "en": Text(
            '"{name}" waits for approval: {problem}.',
            "Ask the operator to look at it and run `mcpist upstream approve`.",
        ),
        "ja": Text(
            "「{name}」は承認待ちです({problem})。",
            "運用者に確認と `mcpist upstream approve` の実行を依頼してください。",
        ),
    }


class NotConfigured(AdministratorError):
    """A service whose own app is not set up here, or set up wrongly."""

    code, status = "NOT_CONFIGURED", 503
    texts = {
        "en": Text("{service} is not set up here: {problem}.", "Ask an administrator to set up its app."),
        "ja": Text("{service} はまだ設定されていません: {problem}。", "管理者にアプリの設定を依頼してください。"),
    }


# -- the user connects an account ---------------------------------------------------------------------


class AccountError(McpistError):
    """The service's account needs the user."""

    status = 409


class ConnectionRequired(AccountError):
    """No account of this service is connected."""

    code = "CONNECTION_REQUIRED"
    texts = {
        "en": Text("No {service} account is connected.", "Connect one: {url}"),
        "ja": Text("{service} のアカウントが接続されていません。", "接続してください: {url}"),
    }


class ReconnectRequired(AccountError):
    """The stored account no longer works."""

    code = "RECONNECT_REQUIRED"
    texts = {
        "en": Text("The connected {service} account is no longer accepted.", "Connect it again: {url}"),
        "ja": Text("接続済みの {service} アカウントが無効になりました。", "接続し直してください: {url}"),
    }


class ScopeMissing(AccountError):
    """The account was connected without a permission that the tool needs."""

    code = "SCOPE_MISSING"
    texts = {
        "en": Text("The {service} account lacks the permission {scope}.", "Connect it again with it: {url}"),
        "ja": Text("{service} アカウントに権限 {scope} がありません。", "権限を付けて接続し直してください: {url}"),
    }


class UnnamedScopeMissing(ScopeMissing):
    """The account lacks a permission, and its service does not say which."""

    texts = {
        "en": Text(
            "The {service} account lacks a permission that this needs: {problem}",
            "Connect it again with all permissions: {url}",
        ),
        "ja": Text(
            "{service} アカウントに必要な権限がありません: {problem}",
            "すべての権限を付けて接続し直してください: {url}",
        ),
    }


# -- nobody: trying again helps -----------------------------------------------------------------------


class TransientError(McpistError):
    """The same request may succeed later."""

    retryable = True


class Timeout(TransientError):
    """The service did not answer in time."""

    code, status = "TIMEOUT", 408
    texts = {
        "en": Text("{service} did not answer within {seconds} s.", "Try again."),
        "ja": Text("{service} が {seconds} 秒以内に応答しませんでした。", "もう一度試してください。"),
    }


class RateLimitExceeded(TransientError):
    """Too many requests; `retry_after` is in seconds."""

    code, status = "RATE_LIMIT_EXCEEDED", 429
    texts = {
        "en": Text("{service} limits the rate of requests.", "Try again in {retry_after} s."),
        "ja": Text("{service} のリクエスト数の上限に達しました。", "{retry_after} 秒後にもう一度試してください。"),
    }


class UserLimitReached(RateLimitExceeded):
    """More requests of one user than a minute may have."""

    texts = {
        "en": Text("You have sent the {limit} requests that a user may send in a minute.", "Wait {retry_after} s."),
        "ja": Text("1 分間に送れる {limit} 件のリクエストに達しました。", "{retry_after} 秒待ってください。"),
    }


class StepLimitReached(RateLimitExceeded):
    """More steps of one organization than a day may have."""

    texts = {
        "en": Text(
            "This takes {steps} steps, and {used} of the {limit} that your organization may run today are used.",
            "Run fewer, or wait {retry_after} s: days end at midnight UTC.",
        ),
        "ja": Text(
            "ステップは {steps} 個です。組織が 1 日に実行できる {limit} 個のうち {used} 個を使っています。",
            "数を減らすか、{retry_after} 秒後(UTC の午前 0 時)まで待ってください。",
        ),
    }


class UpstreamUnavailable(TransientError):
    """The service cannot be reached or is out of order."""

    code, status = "UPSTREAM_UNAVAILABLE", 503
    texts = {
        "en": Text("{service} is not available: {problem}.", "Try again later."),
        "ja": Text("{service} を利用できません: {problem}。", "しばらくしてから試してください。"),
    }


class SchemaFetchError(TransientError):
    """An upstream's list of tools could not be read, and no earlier one is kept."""

    code, status = "SCHEMA_FETCH_ERROR", 503
    texts = {
        "en": Text("The tools of {service} could not be read: {problem}.", "Try again later."),
        "ja": Text("{service} のツール一覧を取得できません: {problem}。", "しばらくしてから試してください。"),
    }


class StoreUnavailable(TransientError):
    """A store of our own did not answer."""

    code, status = "STORE_UNAVAILABLE", 503
    texts = {
        "en": Text("The store is not available ({store}).", "Try again later."),
        "ja": Text("ストアを利用できません({store})。", "しばらくしてから試してください。"),
    }


class NewerFormat(StoreUnavailable):
    """A batch that a newer release wrote, met by an older one during a deployment."""

    texts = {
        "en": Text("The batch was written by a newer release ({format}) than this one ({known}).", "Try again soon."),
        "ja": Text(
            "バッチは新しいリリース({format})で作られました(現在 {known})。", "少し待って、もう一度試してください。"
        ),
    }


# -- as the service's message says --------------------------------------------------------------------


class ToolExecutionError(McpistError):
    """The service refused the request; the message is the service's own."""

    code, status = "TOOL_EXECUTION_ERROR", 500
    texts = {
        "en": Text("{service} answered {http_status}: {problem}", "Read the service's message and correct the call."),
        "ja": Text("{service} の応答 {http_status}: {problem}", "サービスのメッセージを確認して直してください。"),
    }


class UpstreamCallError(ToolExecutionError):
    """A tool of an upstream server answered that it failed; `result` is its answer as it came."""

    result: Mapping[str, Any] | None = None
    texts = {
        "en": Text("{service} answered: {problem}", "Read the server's message and correct the call."),
        "ja": Text("{service} の応答: {problem}", "サーバーのメッセージを確認して直してください。"),
    }


# -- us -----------------------------------------------------------------------------------------------


class DefectError(McpistError):
    """A fault on our side."""


class InvalidConfiguration(DefectError):
    """What the operator configured is wrong; `field` is the place in the file."""

    code, status = "VALIDATION_ERROR", 400
    texts = {
        "en": Text("{path}: {field}: {problem}", "Correct the file, and check it with `mcpist upstream check FILE`."),
        "ja": Text("{path}: {field}: {problem}", "ファイルを直し、`mcpist upstream check FILE` で確かめてください。"),
    }


class IntegrityError(DefectError):
    """A stored secret that does not open where it stands."""

    code, status = "INTEGRITY_ERROR", 500
    texts = {
        "en": Text("A stored value did not pass its integrity check ({what}).", "Tell the operator."),
        "ja": Text("保存された値の検証に失敗しました({what})。", "運用者に連絡してください。"),
    }


class InternalError(DefectError):
    """A defect; the log has more under the request id."""

    code, status = "INTERNAL_ERROR", 500
    texts = {
        "en": Text("Something went wrong on our side.", "Try again; tell the operator the request id {request_id}."),
        "ja": Text("内部エラーが発生しました。", "もう一度試し、リクエスト ID {request_id} を運用者に伝えてください。"),
    }


def concrete_errors(root: type[McpistError] = McpistError) -> Iterator[type[McpistError]]:
    """Every error class that carries a code and texts, in the order of this file."""
    for child in root.__subclasses__():
        if hasattr(child, "code") and hasattr(child, "texts"):
            yield child
        yield from concrete_errors(child)


def to_message(error: McpistError) -> dict[str, Any]:
    """An error as one of our functions sends it to another."""
    return {"type": type(error).__name__, "details": error.details}


def from_message(message: Mapping[str, Any]) -> McpistError:
    """The error that another of our functions sent."""
    kinds = {kind.__name__: kind for kind in concrete_errors()}
    return kinds[message["type"]](**message["details"])
