"""Notion's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
row of, entry in, item in: row page
full text, inside pages, in the text of, mentions the word, containing the words: search text
column, columns, field, fields, schema: property data source
template, templates, form for new rows: templates
kanban, gallery, table view, board view, saved filter: view
upload, attachment, attachments: attach file
block, paragraph, paragraphs: block

データソース: data source
プロパティ, 項目の値: property
添付, 添付ファイル, アップロード: attach file
ブロック: block
全文検索, 本文を検索, 本文から: search text
列, カラム, 項目を追加: property data source
テンプレート, 雛形: templates
ビュー: view
ノーション: notion
"""
