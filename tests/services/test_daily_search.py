"""Daily tasks in people's words find their tools, over all services together."""

import pytest

from mcpist.caller import Caller, Role, Subject
from mcpist.tools.access.permissions import Permissions
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE

TASKS = [
    ("why did the build job fail, show its log", "github.get_job_logs"),
    ("ビルドが失敗した理由のログを見せて", "github.get_job_logs"),
    ("rerun only the failed jobs", "github.rerun_failed_jobs"),
    ("失敗したジョブだけ再実行", "github.rerun_failed_jobs"),
    ("stop the running workflow", "github.cancel_run"),
    ("which CI checks are red on this commit", "github.list_check_runs"),
    ("reply to the review comment", "github.reply_to_review_comment"),
    ("レビューの行コメントに返信", "github.reply_to_review_comment"),
    ("show inline review comments of PR 12", "github.list_review_comments"),
    ("get the diff of the pull request", "github.get_pull_diff"),
    ("commit several files at once", "github.commit_files"),
    ("複数のファイルをまとめてコミット", "github.commit_files"),
    ("create a new repository", "github.create_repo"),
    ("fork the repository", "github.fork_repo"),
    ("フォークして", "github.fork_repo"),
    ("delete the branch fix/login", "github.delete_branch"),
    ("ブランチを削除", "github.delete_branch"),
    ("release v1.2.0 by tag", "github.get_release"),
    ("attach a file to the release", "github.upload_release_asset"),
    ("split the issue into sub-issues", "github.add_sub_issue"),
    ("list sub-issues", "github.list_sub_issues"),
    ("code scanning alerts", "github.list_code_scanning_alerts"),
    ("vulnerable dependencies", "github.list_dependabot_alerts"),
    ("脆弱性のアラート", "github.list_dependabot_alerts"),
    ("download the image logo.png from the repository", "github.download_file"),
    ("download build artifacts", "github.download_artifact"),
    ("download a file from slack", "slack.download_file"),
    ("slack にファイルをアップロード", "slack.upload_file"),
    ("deploy the edge function", "supabase.deploy_function"),
    ("edge functionをデプロイ", "supabase.deploy_function"),
    ("read the source code of the edge function", "supabase.get_function_code"),
    ("merge the supabase branch into production", "supabase.merge_branch"),
    ("reset the database branch", "supabase.reset_branch"),
    ("search the supabase documentation about auth", "supabase.search_docs"),
    ("what tasks are due this week in all lists", "microsoft_todo.search_tasks"),
    ("全部のリストから買い物のタスクを探して", "microsoft_todo.search_tasks"),
    ("what changed in my to-do list since yesterday", "microsoft_todo.list_changes"),
]


# Asked in Japanese for a tool that writes, and which it is.
WRITES = [
    ("スレッドに返信", "slack.send_message"),
    ("Slackでスレッドに返信する", "slack.send_message"),
    ("議事録をNotionに書く", "notion.create_page"),
    ("Confluenceに議事録を書く", "confluence.create_page"),
    ("メッセージを送る", "slack.send_message"),
    ("チャンネルに投稿", "slack.send_message"),
    ("Jiraにバグを登録", "jira.create_issue"),
    ("課題にコメント", "jira.add_comment"),
    ("課題を完了にする", "jira.transition_issue"),
    ("担当者を変える", "jira.assign_issue"),
    ("会議を入れる", "google_calendar.create_event"),
    ("カレンダーに予定を追加", "google_calendar.create_event"),
    ("予定を削除", "google_calendar.delete_event"),
    ("タスクを追加", "microsoft_todo.create_task"),
    ("タスクを完了にする", "microsoft_todo.complete_task"),
    ("買い物リストに牛乳を追加", "microsoft_todo.create_task"),
    ("プルリクエストを作る", "github.create_pull"),
    ("ブランチを作る", "github.create_branch"),
    ("リリースを公開", "github.create_release"),
    ("レビューを依頼", "github.request_reviewers"),
    ("ステータスを会議中にする", "slack.set_status"),
]

IN_OTHER_WORDS = [
    ("add a new page to my Notion workspace", "notion.create_page"),
    ("when can we all get together", "google_calendar.propose_times"),
]


def found(task: str, limit: int) -> list[str]:
    everything = Role("members", modules=NAMES, allow=("*",), destructive=True)
    permissions = Permissions(Caller("acme", "uma", Subject("issuer", "uma"), "user", (everything,)), CATALOGUE)
    return [f"{tool.module}.{tool.name}" for tool in permissions.search(task, limit)]


@pytest.mark.parametrize(("task", "tool"), IN_OTHER_WORDS)
def test_a_task_finds_its_tool_by_words_that_the_tool_does_not_have(task: str, tool: str) -> None:
    assert tool in found(task, 5)


def test_a_writing_tool_that_is_asked_for_in_japanese_comes_first() -> None:
    missed = [(task, first) for task, tool in WRITES if (first := found(task, 1)) != [tool]]
    assert not missed


@pytest.mark.parametrize("task", ["tell me who owns this code", "who owns this code"])
def test_the_owner_of_code_is_looked_for_on_github(task: str) -> None:
    assert found(task, 1)[0].startswith("github.")


def test_daily_tasks_have_their_tool_among_the_first_three() -> None:
    missed = [task for task, tool in TASKS if tool not in found(task, 3)]
    assert len(missed) <= len(TASKS) * 0.05, missed
