"""The words for people: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
who is, whois, person, colleague, coworker, teammate: find person people directory

誰, だれ, 同僚, 担当者, 人を探: find person people directory
"""
