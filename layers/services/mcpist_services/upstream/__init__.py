"""Upstream MCP servers: their tools, split into categories, stand beside our own modules."""

import logging

# The doors' handler serves `mcpist` and what is below it, and keeps all else that is named alike from the root's.
logging.getLogger("mcpist_services").parent = logging.getLogger("mcpist")
