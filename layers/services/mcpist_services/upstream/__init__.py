"""Upstream MCP servers: their tools, split into categories, are offered beside our own modules."""

import logging

# The functions' log handler serves `mcpist` and its children; other loggers must not reach the root's handler.
logging.getLogger("mcpist_services").parent = logging.getLogger("mcpist")
