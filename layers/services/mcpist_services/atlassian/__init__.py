"""What Atlassian's products share: Jira and Confluence."""
