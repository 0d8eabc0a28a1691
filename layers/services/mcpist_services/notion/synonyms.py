"""Notion's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
row of, entry in, item in: row page
full text, inside pages, in the text of, mentions the word, containing the words: search text
template, templates, form for new rows: templates
kanban, gallery, table view, board view, saved filter: view
block, paragraph, paragraphs: block

データソース: data source
プロパティ, 項目の値: property
ブロック: block
全文検索, 本文を検索, 本文から: search text
テンプレート, 雛形: templates
ビュー: view
ノーション: notion
"""
