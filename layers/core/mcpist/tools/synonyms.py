"""What people say, in English and Japanese, and the catalogue's words for it.

A line is `what they say, or that, or that: the catalogue's words`. The longest phrase wins, and each part of a query is
read once.
"""

import re
from functools import cache

_ENGLISH = """
add, insert, put, attach, append: add create insert append
new, make, open a, open an, file a, raise, start a, write, draft, publish, set up, register, book, schedule: create
post, leave: add create
save, store, keep: put create update
push back, move back, delay: update event
change, edit, modify, rename, set, correct, fix the, adjust, reschedule, postpone, replace, overwrite: update
remove, erase, drop, discard, cancel, throw away, get rid of, clear: delete remove trash
show, display, view, see, look at, details, what is, what does, fetch, look up: read
show all, see all, which, overview, browse, all my, all the, my: list
find, look for, where is, seek: search find
how many, number of: count
created by, created in, in the last, last week, this week, since, older than: search list
assigned to me, assigned to, waiting for, still open, with no, across all, that match, where: search list
re-run, run again: rerun
rewrite: update content
section, sections: content
finish, tick off, check off, mark as done, mark done, done with, close out: complete done
close, reopen, resolve, resolved: update status transition
assign: assign update assignee
who am i, my account, my profile, my user, my own account, logged in, signed in as: get me myself self account
run: run execute
approve, request changes: review approve
relocate, transfer: move

discussion, discussion thread, thread, conversation: comment
row of, entry in, item in: row page
ticket, tickets, bug, bugs, bug report, defect, story, stories, epic, task in jira: issue
sub-task, subtask, sub-tasks, subtasks: checklist item issue
step, steps, sub-items: checklist item
pr, prs, pull request, pull requests, merge request: pull
merge: merge pull
repo, repos, repository, repositories, codebase, project on github: repo repository
source code, code: code file
readme, readme file, config file, script: file content
build, builds, ci, ci run, pipeline, pipelines, workflow run: run workflow actions
redo, retry, again: rerun again
trigger, kick off, by hand, manually: dispatch start
difference, differences, diff, changes between: compare
ping, alert, alerts, inbox: notification
release notes, changelog, version: release changelog version
reviewer, reviewers: request reviewers review
folder, directory, directories, file tree: tree folder

status, state, workflow state, in progress, to in progress: status transition
assign to, owner of, give to, hand over: assign assignee
log time, time spent, hours worked, logged time, time tracking: worklog
link together, blocks, duplicates, depends on, relate: link
board, boards, kanban, scrum board: board
person, people, colleague, colleagues, member, members, teammate, teammates: user
history, who changed: changelog versions history

wiki, wiki page, article, articles: page
sub-page, subpages, sub-pages, child page, child pages, nested pages: children
everything below, whole tree: descendants
remark, remarks, feedback, reply: comment
tag, tags: label tag
attached file, attached files, pdf, upload, uploads: attachments
older version, previous version, revision, revisions: versions
action item, action items: tasks

database row, db row, rows, record, records, entries, table data: rows table select query
db, postgres, sql: database sql query
bin, trash can, archive: trash
block, paragraph, paragraphs: block
text of, content, contents, body of: content markdown
field, column, columns: property fields
schema change, migrate: migration
edge function, serverless function: function
bucket, storage, file storage: bucket storage
slow queries, slow query, missing index, missing indexes: performance advisors
rls, row level security, vulnerability, vulnerabilities, security warnings, security issues: security advisors
up and running, is it up, healthy, outage: health
environment variable, environment variables, env vars, env var: secrets
typescript, typed client: types typescript
stored procedure, database function, postgres function: rpc function
error logs, errors in, crash logs: logs
preview environment: branch

by an hour, an hour later, half an hour: update event
meeting, meetings, sync, standup, appointment, appointments, calendar entry, agenda, 1:1, one-on-one, call with: event
invite, guest, guests, attendee: attendees event
free time, free slot, free slots, availability, available, busy, when is everyone free, a time when: free busy
what time, time is it, today's date, current date: current time
weekly, daily, monthly, every wednesday: event recurrence
recurring, repeats, every week, series, occurrence, occurrences: instances recurrence
color, colour, colours: colors

microsoft to do, ms to do, microsoft to-do, マイクロソフト to do: microsoft todo
to do, to-do, to-dos, todos, todo, reminder, remind me, errand, chore: task todo
to do list, to-do list, shopping list, list of tasks: list lists
overdue: list tasks due
deadline, due date, due: due task
checkbox, checkboxes: checklist item
web link, url, hyperlink: link

document, documents, doc, docs, manual, guide, guides, handbook, knowledge base, runbook: docs document
"""

_JAPANESE = """
作成, 作って, 作る, 作りたい, 新規, 新しい, 立てて, 立てる, 起票, 登録, 書いて, 発行: create
追記, 書き足し: append update
保存, 残したい: put create
追加, 付けて, 付ける, つけて, 入れて, 入れる, 足して, 投稿, 残して, 残す: add create append
更新, 変更, 変えて, 変える, 編集, 直して, 修正, 書き換え, 書き直し, 上書き, リネーム, ずらし, ずらす, 延期: update
削除, 消して, 消す, 消したい, 取り消し, キャンセル, 外して, 外す, 取り除, 捨て: delete remove trash
一覧, リストアップ, 全部, すべて, 並べて, 洗い出し: list
取得, 見せて, 見たい, 見る, 表示, 読みたい, 読む, 読んで, 確認, 開いて: read
教えて, 出して: list read
詳細, 内容, 中身, 本文: read content
未完了, 未解決, 未対応, 自分が担当: search list
検索, 探して, 探す, 探したい, 調べて, 調べる, 見つけ: search find
件数, 何件, いくつ, 数えて, 数を: count
完了, 済み, 終わった, チェックを入れ, 片付け: complete done
移動, 移して, 移す: move
実行, 走らせ, 流して: run execute
自分のアカウント, 私は誰, 自分の情報, 自分のプロフィール, ログイン中, 接続中のアカウント: get me myself self account

課題, チケット, バグ, 不具合, イシュー, ストーリー, エピック: issue
プルリクエスト, プルリク, PR: pull
マージ: merge pull
レビュー依頼, レビュアー, レビューを依頼, レビューをお願い: request reviewers
レビュー, 承認: review
リポジトリ, レポジトリ: repo repository
ブランチ: branch
コミット: commit
差分, 比較, 違い: compare
ソースコード, コード: code
ファイル: file
フォルダ, ディレクトリ, ツリー: tree folder
ワークフロー: workflow
ビルド, CI: run workflow actions
ジョブ: jobs
再実行, やり直し: rerun again
手動で, 起動, トリガー: dispatch workflow
リリースノート: release notes
リリース: release
既読: mark notification read
通知: notification
ラベル: label
タグ: tag label
マイルストーン: milestone

ステータス, 進行中, 遷移, レビュー中に, 対応中に, 完了に変更: status transition
担当者, 担当, アサイン, 割り当て: assign assignee
作業時間, 工数, 作業ログ, 稼働時間: worklog
スプリント: sprint
ボード, カンバン: board
プロジェクト: project
課題タイプ, 課題の種類, 課題種別: issue types
フィールド, カスタムフィールド: fields
リンク, 関連付け, 紐付け, ひも付け: link
変更履歴, 履歴: changelog versions history
ユーザー, メンバー, 人を, 同僚: user
コメント, 返信: comment

ページ, 記事, 議事録: page
子ページ, 下位ページ, 配下: children
配下のページをすべて, 配下すべて, 子孫: descendants
スペース: space
添付ファイル, 添付: attachments
バージョン, 版: versions
タスク: task
データベース: database
データソース: data source
プロパティ, 項目の値: property
ブロック: block
ゴミ箱, ごみ箱: trash

行, レコード: rows select table
絞り込, 条件に合う, フィルタ: query filter select
テーブル, 表の: table
SQL, クエリ: sql query
マイグレーション: migration
ログ: logs
セキュリティ: security advisors
パフォーマンス, 性能, 遅い: performance advisors
APIキー, API キー: api keys
シークレット, 環境変数: secrets
関数, ファンクション: function
バケット, ストレージ: bucket storage
ヘルスチェック, 稼働状況, 稼働状態, 正常, 死活: health
型定義, 型を: types typescript
組織: organization

予定, 会議, 打ち合わせ, ミーティング, イベント: event
カレンダー: calendar
招待, 参加者, ゲスト: attendees event
空き時間, 空いて, 空き, 都合: free busy
現在時刻, 何時, 今の時刻, 現在の日時: current time
繰り返し, 毎週, 定例, 各回: instances recurrence
色: colors

ToDo, やること, 用事, 買い物, リマインド, リマインダー: task todo
リスト: lists list
チェックリスト, 手順, サブタスク, 小項目: checklist item
期限, 締め切り, 締切: due task

ドキュメント, 文書, 資料, 社内文書, 手順書, マニュアル, ナレッジ, 規程: docs document
タイトル, 題名: title
日付, 期間: date
ギットハブ: github
ジラ: jira
コンフルエンス: confluence
ノーション: notion
スーパーベース: supabase
グーグル: google
マイクロソフト: microsoft
"""


def catalogue_words(query: str) -> list[str]:
    """The catalogue's words for the phrases that a query holds."""
    table = _phrase_table()
    return [table[found.lower()] for found in _phrase_pattern().findall(query)]


@cache
def _phrase_table() -> dict[str, str]:
    lines = [line.partition(": ") for line in f"{_ENGLISH}{_JAPANESE}".splitlines() if line]
    return {phrase.lower(): words for phrases, _, words in lines for phrase in phrases.split(", ")}


@cache
def _phrase_pattern() -> re.Pattern[str]:
    """All phrases, the longest first; one in Latin letters is found as whole words only."""
    longest = sorted(_phrase_table(), key=len, reverse=True)
    return re.compile(
        "|".join(
            rf"(?<![a-z]){re.escape(phrase)}(?![a-z])" if phrase.isascii() else re.escape(phrase) for phrase in longest
        ),
        re.IGNORECASE,
    )
