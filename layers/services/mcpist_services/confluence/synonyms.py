"""Confluence's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
sub-page, subpages, sub-pages, child page, child pages, nested pages: children
everything below, whole tree: descendants
older version, previous version, revision, revisions: versions
action item, action items: tasks

子ページ, 下位ページ, 配下: children
配下のページをすべて, 配下すべて, 子孫: descendants
スペース: space
バージョン, 版: versions
コンフルエンス: confluence
"""
