"""Access to AWS: clients, tables and the conversion of their items."""
