"""The words for documents: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
updated this month, updated this week, updated since, changed since, by date, newest documents: list docs date
document, documents, doc, docs, manual, guide, guides, handbook, knowledge base, runbook: docs document

ドキュメント, 文書, 資料, 社内文書, 手順書, マニュアル, ナレッジ, 規程: docs document
"""
