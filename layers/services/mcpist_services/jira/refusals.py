"""Jira's refusals: what is wrong with the whole issue, then with each of its fields.

https://developer.atlassian.com/cloud/jira/platform/rest/v3/intro/#status-codes
"""

from mcpist.tools.declare.dialect import Refusals
from mcpist_services.atlassian.refusals import read_refusal

REFUSALS = Refusals(read_refusal, list_fields=("errorMessages",))
