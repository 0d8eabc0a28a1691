"""The Japanese texts of the page of an invitation."""

TEXTS = {
    "title": "{organization} に参加",
    "heading": "{organization} への招待",
    "lead": "{by} さんが、{name} としてあなたを招待しています。"
    "アシスタントで次のロールのツールを使えるようになります。",
    "no_roles": "まだありません",
    "agree": "サインインして参加",
    "note": "リンクは 1 回だけ使えます。今サインインした人が参加します。",
    "until": "期限: {day}",
    "refused": "この招待は使えません",
    "invalid": "すでに使われたか、取り消されたか、期限が過ぎています。組織の管理者に新しいリンクを依頼してください。",
    "taken": "このユーザー ID は別の人のものになりました。組織の管理者に新しいリンクを依頼してください。",
}
