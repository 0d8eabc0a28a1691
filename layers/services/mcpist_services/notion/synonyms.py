"""Notion's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
rows of, rows in, where status is, データベースから, 未着手, 行を出: query data source
in the trash, to the trash, throw away, ゴミ箱に: trash page
to-do block, check the block: update block
sorted by, tasks in notion, notion tasks: query data source
set status, status to, on that row, in that row, this row: update page properties
件追加, 行を追加, レコードを追加: create page
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
