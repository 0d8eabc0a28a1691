"""The services' tools: one module a name, imported when it is first used."""

from mcpist.tools.catalogue import Catalogue

NAMES = ("github", "rag")
CATALOGUE = Catalogue(__name__, NAMES)
