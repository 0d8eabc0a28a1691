"""What every door of MCPist shares."""
