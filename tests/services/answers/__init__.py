"""What the vendors answer in tests where their descriptions give no example that tells anything."""
