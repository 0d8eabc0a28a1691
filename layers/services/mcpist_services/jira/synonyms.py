"""Jira's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
ABC-0: jira issue
give ABC-0 to, hand ABC-0 to: assign issue
move ABC-0 to, put ABC-0 in, ABC-0を完了, ABC-0を進行: transition issue
unresolved, bugs in, tickets in, all bugs, all tickets: search issues
finish sprint, finish the sprint, close the sprint, end the sprint, complete the sprint: close sprint
自分に割り当て, 自分の担当, 担当のチケット, 未解決の: search issues
作業を記録, 時間を記録, 時間の作業: add worklog
スプリントを開始, スプリントを始め: start sprint
スプリントを終了, スプリントを完了, スプリントを閉じ: close sprint
story, stories, epic, task in jira: issue
my tickets, open tickets, still open, my issues, open issues, tickets assigned: search issues
raise a ticket, raise a jira ticket, open a jira ticket, create a jira ticket: create issue
new ticket, open a ticket, log a bug, report a bug: create issue
sub-task, subtask, sub-tasks, subtasks: create issue
add a sub-task, add a subtask: create issue
assigned to me, my open: search issues
what statuses, which statuses, next status, possible statuses, statuses can: list transitions
how much time, time has been logged, hours logged, who logged: list worklogs
block, blocks, blocked by, is blocked: link issues
what is in the sprint, active sprint, current sprint, this sprint, in the sprint: list sprint issues
into sprint, into the sprint, to the sprint, next sprint: move sprint
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
スプリントに入, 次のスプリント, スプリントへ: move sprint
今のスプリント, 現在のスプリント, スプリントの課題: list sprint issues
ブロック: link issues
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
