"""The Japanese texts of what the last form changed: `?done=KEY` shows one of them."""

TEXTS = {
    "connected": "接続しました。このページを閉じて、アシスタントに戻れます。",
    "declined": "サービスで許可されなかったため、接続していません。",
    "disconnected": "接続を解除しました。1 分以内に使われなくなります。",
    "kept": "何も変更していません。",
    "language": "言語を変更しました。",
    "signed_out_there": "そのブラウザーをサインアウトしました。",
    "signed_out_everywhere": "ほかのすべてのブラウザーをサインアウトしました。",
}
