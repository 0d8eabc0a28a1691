"""Supabase."""
