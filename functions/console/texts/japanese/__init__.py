"""The Japanese texts."""
