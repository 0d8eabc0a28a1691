"""The words for files: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
large result, cut answer, attachment, output, grep: file
filter, rows, csv, jmespath, jq: file table query

ファイル, 大きな結果, 添付: file
検索, 抽出, 絞り込み: file search query
"""
