"""Confluence's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
wiki, ウィキ: confluence page
in the wiki, on the wiki, ウィキで: search confluence
write a page, write a new, new wiki page: create page
tag the page, label the page, tag this page: add labels
subpages, child pages, pages under: list children
at the bottom of, at the end of: append page
what feedback, feedback did, who commented, comments on: list comments
add a section, new section, at the end, at the bottom: append section page
sub-page, subpages, sub-pages, child page, child pages, nested pages: children
everything below, whole tree: descendants
older version, previous version, revision, revisions: versions
action item, action items: tasks
blog, announcement, announcements: blog post
duplicate page, use as template, from template: copy page
annotate, remark on words, highlight: inline comment

子ページ, 下位ページ, 配下: children
配下のページをすべて, 配下すべて, 子孫: descendants
スペース: space
ブログ, お知らせ: blog post
複製, コピー: copy page
インラインコメント, 語句へのコメント: inline comment
バージョン, 版: versions
コンフルエンス: confluence
"""
