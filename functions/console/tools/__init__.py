"""The page of tools: search, filters, a panel for each tool, and the switches of administrators."""
