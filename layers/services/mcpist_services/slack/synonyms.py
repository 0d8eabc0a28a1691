"""Slack's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
what was said, what happened in, messages in, last messages, latest messages: list messages
find messages, messages about, 話した内容, 会話を探: search messages
dm, direct message, ダイレクトメッセージ: open conversation send message
dm, direct message, whisper, ping, tell, let know, write to, say to: send message channel
post, announce, say in: send message channel
conversation, conversations, room, rooms: channel
reply in thread, answer in thread, respond to: send message thread
replies, discussion: thread
emoji, thumbs up, like, react: reaction
what did i miss, catch up, scroll back, latest messages, chat history: list messages channel
send later, post later, queue a message, tomorrow morning: schedule message
permalink, link to message, share link: permalink
remind me, nudge me: create reminder
teammate, coworker, colleague, member, members, who is in: users members
snippet, attach, attachment, share a file, share this: upload file
pdfs, images, snippets: list files
topic, purpose: topic channel
invite, add people: invite channel
unsend, take back: delete message
edit message, fix typo: update message

スラック: slack
メッセージ, チャット, 発言, 投稿: message
送信, 送って, 投稿して, 伝えて, 連絡: send message
スレッド, 返信: thread
チャンネル, チャネル: channel
検索, 探して: search
リアクション, 絵文字: reaction
ピン留め, ピン: pin
ファイル, 添付, スニペット: file
リマインダー, リマインド: reminder
予約, 予約送信, 予約投稿, 後で送: schedule message
リマインダーを設定, リマインドして, 思い出させて: create reminder
メンバー, ユーザー: users members
招待: invite channel
ダイレクトメッセージ: send message channel
"""
