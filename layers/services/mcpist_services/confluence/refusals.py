"""Confluence's refusals: those of Atlassian."""

from mcpist.tools.declare.dialect import Refusals
from mcpist_services.atlassian.refusals import read_refusal

REFUSALS = Refusals(read_refusal)
