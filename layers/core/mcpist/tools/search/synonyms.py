"""Synonyms: what people say, in English and Japanese, and the catalogue's words for it.

A line is `what they say, or that, or that: the catalogue's words`. The longest phrase wins, and each part of a query is
read once. In a phrase, `0` stands for any number and `ABC` for any capitals: `ABC-0` is a key such as ENG-42. Here is
what holds for several services; each service adds its own.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from string import ascii_lowercase

MAX_CACHED_TABLES = 8
START_CHARACTERS = 3  # by which phrases are looked up

_LETTERS = frozenset(ascii_lowercase)

_FORM = re.compile(r"((?<!\d)0(?!\d)|abc)")
_FORMS = {"0": r"\d+", "abc": "[A-Z][A-Z0-9]+"}

_ENGLISH = """
add, insert, put, attach, append: add create insert append
new, make, open a, open an, file a, raise a, raise an, submit, start a, write: create
draft, publish, set up, register, book, schedule: create
post, leave: add create
leave a note, leave a comment, leave a remark, drop a note, respond to, say on: add comment
save, store, keep: put create update
set the, set its, raise its, raise the, lower the, mark the, put off, extend, switch: update
change, edit, modify, rename, set, correct, fix the, adjust, reschedule, postpone, replace, overwrite: update
remove, erase, drop, discard, cancel, throw away, get rid of, clear: delete remove trash
open the, open my, pull up, what did, what was, tell me about: read get
show, display, view, see, look at, details, what is, what does, fetch, look up: read
show all, see all, which, overview, browse, all my, all the, my: list
find, look for, where is, seek: search find
how many, number of: count
created by, created in, in the last, last week, this week, since, older than: search list
assigned to me, assigned to, waiting for, still open, with no, across all, that match, where: search list
rewrite: update content
section, sections: content
finish, tick off, check off, mark as done, mark done, done with, close out: complete done
close, reopen, resolve, resolved: update status transition
assign: assign update assignee
who am i, my account, my profile, my user, my own account, logged in, signed in as: get me myself self account
run: run execute
relocate, transfer: move

comment on, comment that: add comment
catch up, what did i miss, unread: list notification messages
finish, wrap up: close complete
bring back, undo: restore reset
discussion, discussion thread, thread, conversation: comment comments
what feedback, which comments, what people said, who commented: list comments
ticket, tickets, bug, bugs, bug report, defect: issue
sub-task, subtask, sub-tasks, subtasks: checklist item issue
folder, directory, directories, file tree: tree folder
assign to, owner of, give to, hand over: assign assignee
person, people, colleague, colleagues, member, members, teammate, teammates: user
history, who changed: changelog versions history
wiki, wiki page, article, articles: page
remark, remarks, feedback, reply: comment
tag, tags: label tag
attached file, attached files, pdf, upload, uploads: attachments
database row, db row, rows, record, records, entries, table data: rows table select query
bin, trash can, archive: trash
text of, content, contents, body of: content markdown
field, column, columns: property fields
error logs, errors in, crash logs: logs
web link, url, hyperlink: link
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
開始, 始め, スタート: start
終了, 終わらせ, 締め: close complete
返信, 返事を書: reply comment
記録: add log
貼って, 添えて: add
移動, 移して, 移す, 入れたい, 入れる: move
延ばす, 延ばして, 伸ばす, 遅らせ, 早め: update
実行, 走らせ, 流して: run execute
自分のアカウント, 私は誰, 自分の情報, 自分のプロフィール, ログイン中, 接続中のアカウント: get me myself self account

課題, チケット, バグ, 不具合, イシュー: issue
ブランチ: branch
ファイル: file
フォルダ, ディレクトリ, ツリー: tree folder
ラベル: label
タグ: tag label
担当者, 担当, アサイン, 割り当て: assign assignee
プロジェクト: project
リンク, 関連付け, 紐付け, ひも付け: link
変更履歴, 履歴: changelog versions history
ユーザー, メンバー, 人を, 同僚: user
コメント, 返信: comment
ページ, 記事, 議事録: page
添付ファイル, 添付: attachments
タスク: task
データベース: database
ゴミ箱, ごみ箱: trash
行, レコード: rows select table
絞り込, 条件に合う, フィルタ: query filter select
テーブル, 表の: table
ログ: logs
組織: organization
リスト: lists list
タイトル, 題名: title
日付, 期間: date
"""


class Synonyms:
    """The general synonyms and those of services, given as lines."""

    def __init__(self, lines: str) -> None:
        self._words: dict[str, str] = {}
        for line in filter(None, f"{_ENGLISH}{_JAPANESE}{lines}".splitlines()):
            phrases, _, words = line.rpartition(": ")
            for phrase in phrases.lower().split(", "):
                self._words[phrase] = f"{self._words[phrase]} {words}" if phrase in self._words else words
        self._forms = [
            (re.compile(_form_pattern(phrase)), words) for phrase, words in self._words.items() if _FORM.search(phrase)
        ]
        self._by_start: dict[str, list[str]] = defaultdict(list)
        for phrase in sorted(self._words, key=len, reverse=True):
            self._by_start[phrase[:START_CHARACTERS]].append(phrase)

    def find(self, query: str) -> list[tuple[str, str]]:
        """Return the phrases in a query, each with the catalogue's words for it."""
        found = [(phrase, self._words[phrase.lower()]) for phrase in self._phrases(query)]
        forms = ((form.search(query), words) for form, words in self._forms)
        return found + [(match[0], words) for match, words in forms if match]

    def _phrases(self, query: str) -> Iterator[str]:
        """Yield the longest phrase at each place of a query that no phrase before it takes."""
        text = "".join(map(_lower, query))
        place = 0
        while place < len(text):
            starts = (text[place : place + length] for length in range(START_CHARACTERS, 0, -1))
            phrases = (phrase for start in starts for phrase in self._by_start.get(start, ()))
            phrase = next((phrase for phrase in phrases if _is_at(text, place, phrase)), "")
            if phrase:
                yield query[place : place + len(phrase)]
            place += len(phrase) or 1


synonyms = lru_cache(MAX_CACHED_TABLES)(Synonyms)


def _lower(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character


def _is_at(text: str, place: int, phrase: str) -> bool:
    """Return whether a phrase is at a place; one in Latin letters is found as whole words only."""
    end = place + len(phrase)
    return text.startswith(phrase, place) and not (
        phrase.isascii() and (text[place - 1 : place] in _LETTERS or text[end : end + 1] in _LETTERS)
    )


def _form_pattern(phrase: str) -> str:
    """Return a pattern for a phrase with a number or capitals in it."""
    pattern = "".join(_FORMS.get(part, re.escape(part)) for part in _FORM.split(phrase))
    return rf"(?<![A-Za-z0-9-]){pattern}(?![A-Za-z0-9-])" if phrase.isascii() else pattern
