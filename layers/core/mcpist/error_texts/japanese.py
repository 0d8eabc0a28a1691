"""The errors in Japanese."""

from collections.abc import Mapping

from mcpist.error_texts import Text

LINE_PREFIX = "{line} 行目: "

TEXTS: Mapping[str, Text] = {
    # The caller changes the request.
    "InvalidRequest": Text("{field}: {problem}", "この項目を直して、もう一度送ってください。"),
    "InvalidArguments": Text("{module}.{tool}: {field}: {problem}", "ツールのスキーマに合わせて引数を直してください。"),
    "InvalidLine": Text(
        "{field}: {problem}", "1 行に 1 つの JSON オブジェクト(id、module、tool、params)を書いてください。"
    ),
    "EmptyBatch": Text(
        "バッチにステップがありません。", "id、module、tool、params を持つ行を 1 行以上送ってください。"
    ),
    "TooManySteps": Text("ステップが {steps} 個あります。上限は {limit} 個です。", "複数のバッチに分けてください。"),
    "DuplicateStep": Text("id「{id}」は {first_line} 行目と同じです。", "ステップごとに別の id を付けてください。"),
    "UnknownStep": Text("{field} のステップ「{step}」は、どの行の id でもありません。", "使える id: {known}。"),
    "CyclicSteps": Text("ステップが互いを待っています: {cycle}。", "依存関係を 1 つ外してください。"),
    "UnresolvedReference": Text(
        "{field}: ${{{reference}}} を解決できません: {problem}。", "参照を直してください。{known}"
    ),
    "StaleConfirmation": Text(
        "この回答はこのリクエストのものではないか、古すぎます。", "回答を付けずにもう一度送ってください。"
    ),
    "StaleConnection": Text(
        "この接続はこのブラウザーで始めたものではないか、すでに終わっています。", "最初からやり直してください。"
    ),
    "FormRefused": Text(
        "このフォームは、{url} の有効なページから送られたものではありません。",
        "ページを開き直して、もう一度操作してください。",
    ),
    "LastAdministrator": Text("{organization} に管理者がいなくなります。", "先に別のユーザーを管理者にしてください。"),
    "RoleInUse": Text(
        "ロール「{name}」を持つユーザーがいます: {users}。", "先にこれらのユーザーからロールを外してください。"
    ),
    "GrantsRemain": Text(
        "{name} に接続済みのアカウントがあります: {services}。",
        "先に切断するか、変更と同時に取り消してください(--with-grants、REST では withGrants=true)。"
        "残すと、後でこの ID を得た人が使えてしまいます。",
    ),
    "NotAList": Text(
        "{field}: {reference} はリストではありません({kind})。", "ステップの items など、リストを指定してください。"
    ),
    "TooManyElements": Text(
        "{field}: {reference} の要素は {elements} 個です。上限は {limit} 個です。",
        "要素を減らすか、each_limit を上げる(バッチ全体で 1,000 まで)か、バッチを分けてください。",
    ),
    "AuthenticationError": Text("有効なアクセストークンが必要です: {problem}。", "もう一度ログインしてください。"),
    "TokenMissing": Text(
        "アクセストークンが送られていません。",
        "ログインしてください。ログイン先は WWW-Authenticate ヘッダーにあります。",
    ),
    "ModuleNotFound": Text("モジュール「{module}」はありません。", "使えるモジュール: {known}。"),
    "NotRegistered": Text(
        "この組織に登録されたモジュール「{module}」はありません。", "登録されたモジュール: {known}。"
    ),
    "ToolNotFound": Text("モジュール「{module}」にツール「{tool}」はありません。", "使えるツール: {known}。"),
    "UnknownToolName": Text(
        "ツールが見つかりません: {name}", "ツール: {known}。GET /v1/tools で使えるものを一覧できます。"
    ),
    "RouteNotFound": Text("{method} {path} はありません。", "GET /v1/openapi.json にすべてのルートがあります。"),
    "PageNotFound": Text("{path} というページはありません。", "最初のページからやり直してください。"),
    "MethodNotAllowed": Text("{path} は {method} を受け付けません。", "{allowed} を使ってください。"),
    "UnsupportedMediaType": Text("本文の形式は {media_type} です。", "application/json で送ってください。"),
    "ConnectionNotFound": Text(
        'アカウント "{id}" はありません。', "GET /v1/connections で接続済みのアカウントを一覧できます。"
    ),
    "RangeNotSatisfiable": Text("ファイルに {range} のバイトはありません。", "大きさは {size_bytes} バイトです。"),
    "RequestInProgress": Text(
        "同じ {header} のリクエストが実行中か、失われました。",
        "数秒後に送り直してください。続く場合は、別のキーを使う前に結果を確認してください。",
    ),
    "FileNotFound": Text("ファイル「{path}」はありません。", "応答、検索、一覧にあるパスを使ってください。"),
    "FileExpired": Text(
        "ファイル「{path}」の保存期限は {expired_at} でした。",
        "作成した処理をもう一度実行するか、保存日数(FileDays)を延ばすよう依頼してください。",
    ),
    "BatchNotFound": Text(
        "バッチ「{batch}」はありません。", "バッチは 1 日間保存され、開始したユーザーだけに表示されます。"
    ),
    "ConfirmationRequired": Text(
        "破壊的な操作にユーザーが同意していないため、何も実行していません: {steps}。",
        "内容をユーザーに示し、同意を得てから confirm: true を付けて送ってください。",
    ),
    "ConfirmationPending": Text(
        "破壊的な操作にユーザーが同意していないため、何も実行していません: {steps}。",
        '内容をユーザーに示し、同意を得てから "confirmation": "{confirmation}" を付けて同じリクエストを送るか、'
        "この ID のバッチを確認してください。",
    ),
    "ConfirmationDeclined": Text(
        "ユーザーが同意しなかったため、何も実行していません: {steps}。", "代わりの方法をユーザーに尋ねてください。"
    ),
    "Conflict": Text("対象({what})がその間に変更されました。", "内容を確認して、必要ならもう一度試してください。"),
    "AlreadyExists": Text("{kind}「{name}」は既にあります。", "別の名前を選ぶか、既存のものを変更してください。"),
    "UserNotFound": Text("ユーザー「{name}」はいません。", "ユーザー: {known}。"),
    "InvitationNotFound": Text("「{name}」への未使用の招待はありません。", "未使用の招待: {known}。"),
    "RoleNotFound": Text("ロール「{name}」はありません。", "ロール: {known}。"),
    "AuditRowNotFound": Text("監査記録「{row}」はありません。", "記録は監査に表示される `id` で指定します。"),
    "PayloadTooLarge": Text(
        "リクエストは {size_bytes} バイトです。上限は {limit_bytes} バイトです。", "小さく分けてください。"
    ),
    "AnswerTooLarge": Text(
        "{service} の応答が上限 {limit_bytes} バイトを超えています。", "範囲を絞って取得してください。"
    ),
    "FileTooLarge": Text(
        "ファイル「{path}」は {size_bytes} バイトです。読み取れる上限は {limit_bytes} バイトです。",
        "ツールに渡す範囲を絞るか、1 ページずつ取得して、小さなファイルにしてください。",
    ),
    # An administrator changes a permission or the configuration.
    "AuthorizationError": Text("「{name}」を使う権限がありません。", "組織の管理者に権限を依頼してください。"),
    "MembershipRequired": Text("この組織のメンバーではありません。", "管理者に追加を依頼してください。"),
    "OrganizationAmbiguous": Text("複数の組織のメンバーです: {known}。", "/mcp/<組織> で 1 つを指定してください。"),
    "ReadingOnly": Text(
        "「{name}」は変更を行います。このアドレスで使えるのは読み取り専用のツールだけです。",
        "/readonly を除いたアドレスを使ってください。",
    ),
    "ToolDisabled": Text("「{name}」は組織で無効になっています。", "管理者に有効化を依頼してください。"),
    "DisabledByOperator": Text(
        "「{name}」は上流サーバーの設定ファイルで無効になっています。",
        "運用者に、includeNames への追加か override での有効化を依頼してください。",
    ),
    "ApprovalRequired": Text(
        "「{name}」は承認待ちです({problem})。", "運用者に確認と `mcpist upstream approve` の実行を依頼してください。"
    ),
    "NotConfigured": Text(
        "{service} はまだ設定されていません: {problem}。", "管理者にアプリの設定を依頼してください。"
    ),
    "ProgramUnavailable": Text(
        "プログラム {program} はここでは実行できません: {problem}。",
        "運用者に連絡してください。宣言またはパッケージに誤りがあります。",
    ),
    "UpstreamSecretMissing": Text(
        "{service} はここでは設定されていません: 秘密情報 {parameter} が保存されていません。",
        "運用者に保存を依頼してください: mcpist upstream secret set {secret}",
    ),
    # The user connects an account.
    "ConnectionRequired": Text("{service} のアカウントが接続されていません。", "接続してください: {url}"),
    "ReconnectRequired": Text("接続済みの {service} アカウントが無効になりました。", "接続し直してください: {url}"),
    "ScopeMissing": Text(
        "{service} アカウントに権限 {scope} がありません。", "権限を付けて接続し直してください: {url}"
    ),
    "UnnamedScopeMissing": Text(
        "{service} アカウントに必要な権限がありません: {problem}",
        "すべての権限を付けて接続し直してください: {url}",
    ),
    # Nobody: trying again helps.
    "Timeout": Text("{service} が {seconds} 秒以内に応答しませんでした。", "もう一度試してください。"),
    "RequestTimeout": Text(
        "リクエストに {seconds} 秒以内に応答できませんでした。",
        "書き込みは行われた可能性があります。一度に求める量を減らすか、より長く実行できる batch を使ってください。",
    ),
    "RateLimitExceeded": Text(
        "{service} のリクエスト数の上限に達しました。", "{retry_after} 秒後にもう一度試してください。"
    ),
    "UserLimitReached": Text("1 分間に送れる {limit} 件のリクエストに達しました。", "{retry_after} 秒待ってください。"),
    "TooManyInFlight": Text(
        "同時に処理中のリクエストが多すぎます。同時に送れるのは、ユーザーまたは組織ごとに {limit} 件です。",
        "{retry_after} 秒後に、同時に送る数を減らして試してください。batch は多くの呼び出しを 1 件で実行します。",
    ),
    "ExecutionsExhausted": Text(
        "AWS アカウントで同時に実行できる関数の数の上限に達しています。",
        "{retry_after} 秒後にもう一度試してください。"
        "たびたび起こる場合は、管理者が AWS に同時実行数の引き上げを申請してください。",
    ),
    "StepLimitReached": Text(
        "ステップは {steps} 個です。組織が 1 日に実行できる {limit} 個のうち {used} 個を使っています。",
        "数を減らすか、{retry_after} 秒後(UTC の午前 0 時)まで待ってください。",
    ),
    "UpstreamUnavailable": Text("{service} を利用できません: {problem}。", "しばらくしてから試してください。"),
    "SchemaFetchError": Text("{service} のツール一覧を取得できません: {problem}。", "しばらくしてから試してください。"),
    "StoreUnavailable": Text("データストアを利用できません({store})。", "しばらくしてから試してください。"),
    "NewerFormat": Text(
        "バッチはこのリリース({known})より新しいリリース({format})で作られました。",
        "少し待って、もう一度試してください。",
    ),
    # The service's message says who acts.
    "ToolExecutionError": Text(
        "{service} の応答 {http_status}: {problem}", "サービスのメッセージを確認して、呼び出しを直してください。"
    ),
    "ProgramFailed": Text(
        "{program} が終了コード {exit_code} で終了しました: {problem}",
        "プログラムのメッセージを確認して、引数を直してください。",
    ),
    "ProgramKilled": Text(
        "{program} はシグナル {signal} で終了しました: {problem}", "引数を直すか、処理量を減らしてください。"
    ),
    "ProgramLimitReached": Text(
        "{program} は上限({limit} {resource})を超えたため停止しました。", "一度に処理する量を減らしてください。"
    ),
    "OutputRefused": Text("{program} の出力を受け取れません: {problem}。", "プログラムの管理者に連絡してください。"),
    "UpstreamCallError": Text(
        "{service} の応答: {problem}", "サーバーのメッセージを確認して、呼び出しを直してください。"
    ),
    # The operator.
    "InvalidConfiguration": Text(
        "{path}: {field}: {problem}", "ファイルを直し、`mcpist upstream check FILE` で確かめてください。"
    ),
    "IntegrityError": Text("保存された値の検証に失敗しました({what})。", "運用者に連絡してください。"),
    "InternalError": Text(
        "内部エラーが発生しました。", "もう一度試し、リクエスト ID {request_id} を運用者に伝えてください。"
    ),
}
