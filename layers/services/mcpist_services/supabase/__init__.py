"""Supabase."""

TITLE = "Supabase"
