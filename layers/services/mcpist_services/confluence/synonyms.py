"""Confluence's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
sub-page, subpages, sub-pages, child page, child pages, nested pages: children
everything below, whole tree: descendants
older version, previous version, revision, revisions: versions
action item, action items: tasks
blog, news, announcement, announcements, article: blog post
duplicate page, use as template, from template: copy page
who is, colleague, person, account id: users
upload, attachment, attachments: attach file attachment
annotate, remark on words, highlight: inline comment

子ページ, 下位ページ, 配下: children
配下のページをすべて, 配下すべて, 子孫: descendants
スペース: space
添付, 添付ファイル, アップロード: attach file attachment
ブログ, お知らせ: blog post
複製, コピー: copy page
人, 担当者, メンバー: users
インラインコメント, 語句へのコメント: inline comment
バージョン, 版: versions
コンフルエンス: confluence
"""
