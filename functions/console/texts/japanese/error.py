"""The Japanese texts of the page of an error."""

TEXTS = {
    "failed": "うまくいきませんでした",
    "forbidden": "このページは表示できません",
    "not_found": "ページが見つかりません",
    "login_ended": "ログインの有効期限が切れました",
    "login_ended_note": "安全のため、1 時間操作がないとログインは終了します。何も変更していません。",
    "not_logged_in": "ログインしていません",
    "not_logged_in_note": "ログインを取りやめたため、何も変更していません。いつでもログインできます。",
    "which_organization": "どの組織ですか?",
    "signed_out": "サインアウトしました",
    "signed_out_note": "このブラウザーには、あなたの情報はもう表示されません。",
    "sign_in": "サインイン",
    "again": "やり直す",
    "home": "ホームへ",
    "other_login": "別のユーザーでログイン",
    "who_caller": "ご自身で修正できます。",
    "who_administrator": "組織の管理者が変更できます。",
    "who_user": "アカウントを接続すると解決できます。",
    "who_nobody": "対応は不要です。少し待ってからもう一度お試しください。",
    "who_us": "システムの不具合です。運用者はこの ID で調べられます: {request}",
    "who_service": "メッセージのとおり、サービスが拒否しました。",
}
