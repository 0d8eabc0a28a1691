"""The Japanese texts of what the last form changed: `?done=KEY` shows one of them."""

TEXTS = {
    "connected": "接続しました。このページを閉じて、アシスタントに戻れます。",
    "declined": "サービスで許可されなかったため、接続していません。",
    "disconnected": "接続を解除しました。1 分以内に使われなくなります。",
    "kept": "何も変更していません。",
    "language": "言語を変更しました。",
    "signed_out_there": "そのブラウザーをサインアウトしました。",
    "signed_out_everywhere": "ほかのすべてのブラウザーをサインアウトしました。",
    "batch_cancelled": "バッチを中止しました。これ以降のステップは開始しません。",
    "batch_resumed": "残りのステップを、この新しいバッチとして開始しました。",
    "batch_declined": "何も実行しませんでした。",
    "batch_confirmed": "バッチを開始しました。",
    "file_kept": "結果を自分のファイルとして保存しました。",
    "tool_enabled": "有効にしました。ロールで許可された人は数秒で使えます。",
    "tool_disabled": "停止しました。数秒でだれも使えなくなります。",
}
