"""Jira's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
story, stories, epic, task in jira: issue
status, state, workflow state, in progress, to in progress: status transition
log time, time spent, hours worked, logged time, time tracking: worklog
link together, blocks, duplicates, depends on, relate: link
unlink: delete link
required fields, allowed values, field options, picklist, which fields: fields
who can work on, who can be assigned, team members: assignable users
begin the sprint, finish the sprint, end the sprint, complete the sprint: start close sprint
fix version, milestone: version
all of these issues, mass update, many issues: update issues bulk
board, boards, kanban, scrum board: board

ストーリー, エピック: issue
ステータス, 進行中, 遷移, レビュー中に, 対応中に, 完了に変更: status transition
作業時間, 工数, 作業ログ, 稼働時間: worklog
スプリント: sprint
ボード, カンバン: board
課題タイプ, 課題の種類, 課題種別: issue types
添付, 添付ファイル, アップロード: attach file attachment
フィールド, カスタムフィールド, 必須項目, 選択肢: fields
バックログを見, バックログの一覧, バックログ一覧: list backlog
バージョン, リリース: version
担当できる, 割り当て可能: assignable users
一括, まとめて: update issues bulk
ジラ: jira
"""
