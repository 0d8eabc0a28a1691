"""GitHub's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
what did i miss, what's new for me: list notifications
comment on pr, comment on pull request: add issue comment
latest release, newest release, last release, 最新リリース, 最新のリリース: get release releases
ビルドのログ, ジョブのログ, 失敗したログ, 失敗したビルド: get job logs
review comment on: review comment
re-run, run again: rerun
approve, request changes: review approve
pr, prs, pull request, pull requests, merge request: pull
merge: merge pull
repo, repos, repository, repositories, codebase, project on github: repo repository
source code, code: code file
readme, readme file, config file, script: get file content
commit an, commit a, commit the: put file commit files
which job, which step, failed step, what broke, step broke: list jobs
waiting for my review, review requested, awaiting my review, to be reviewed: search issues pull
file a bug, report a bug, new bug: create issue
thread under, comments under, replies under: list issue comments
release history, past releases, all releases: list releases
my repositories, my repos, all repositories, all repos: list repos
build, builds, ci, ci run, pipeline, pipelines, workflow run: run workflow actions
redo, retry, again: rerun again
trigger, kick off, by hand, manually: dispatch start
difference, differences, diff, changes between: compare
ping, alert, alerts, inbox: notification
release notes, changelog, version: release changelog version
reviewer, reviewers: request reviewers review
build log, output of the build, why it failed, why did it fail: job logs
stop, abort: cancel
red, green, ci status, status checks: check runs
inline comment, inline comments, line comment, line comments, review thread: review comment
patch: diff
several files, many files, multiple files, at once: commit files
new repository, new repo: create repo
vulnerability, vulnerabilities, vulnerable, security, outdated package: alerts dependabot code scanning
subtask, subtasks, sub-task, sub-tasks, sub-issue, sub-issues, child issue, split into: sub issue
binary, image, picture, zip: download file
attach to the release, asset, assets: release asset

プルリクエスト, プルリク: pull
マージ: merge pull
レビュー依頼, レビュアー, レビューを依頼, レビューをお願い: request reviewers
レビュー, 承認: review
プルリクを承認, プルリクエストを承認, マージを承認: create review approve pull
プルリクを出, プルリクを作, プルリクエストを作, プルリクエストを出: create pull
レビュー待ち: list pulls search issues
の中身, ファイルの内容, ファイルを見: get file content
リポジトリ, レポジトリ: repo repository
コミット: commit
差分, 比較, 違い: compare
ソースコード, コード: code
ワークフロー: workflow
ビルド: run workflow actions
ログ: job logs
失敗した理由, 失敗の原因, なぜ失敗: job logs failed
失敗したジョブ: rerun failed jobs
中止, 止める, 取り消し: cancel
チェック: check runs
行コメント, インラインコメント: review comments
返信: reply
複数のファイル, まとめて: commit files
フォーク: fork
脆弱性, セキュリティ: alerts dependabot code scanning
サブイシュー, 子イシュー, サブタスク: sub issue
ダウンロード: download
成果物: artifact
ジョブ: jobs
再実行, やり直し: rerun again
手動で, 起動, トリガー: dispatch workflow
リリースノート: release notes
リリース: release
既読: mark notification read
通知: notification
マイルストーン: milestone
ギットハブ: github
"""
