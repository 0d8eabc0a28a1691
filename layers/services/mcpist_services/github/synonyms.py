"""GitHub's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
re-run, run again: rerun
approve, request changes: review approve
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

プルリクエスト, プルリク: pull
マージ: merge pull
レビュー依頼, レビュアー, レビューを依頼, レビューをお願い: request reviewers
レビュー, 承認: review
リポジトリ, レポジトリ: repo repository
コミット: commit
差分, 比較, 違い: compare
ソースコード, コード: code
ワークフロー: workflow
ビルド: run workflow actions
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
