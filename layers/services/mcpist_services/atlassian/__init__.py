"""Atlassian: the dialect and the refusals that Jira and Confluence share."""
