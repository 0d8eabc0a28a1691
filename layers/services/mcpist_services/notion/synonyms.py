"""Notion's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
row of, entry in, item in: row page
block, paragraph, paragraphs: block

データソース: data source
プロパティ, 項目の値: property
ブロック: block
ノーション: notion
"""
