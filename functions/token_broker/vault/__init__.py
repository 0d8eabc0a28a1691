"""Sealing and opening secrets; the only room that sees a stored secret."""
