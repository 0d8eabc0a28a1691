"""The services' tools: one module a name, imported when it is first used."""

NAMES = ("github", "rag")
