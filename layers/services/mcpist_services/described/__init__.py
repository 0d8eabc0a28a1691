"""Imported APIs: an OpenAPI description becomes a module, by an overlay that people can correct."""
