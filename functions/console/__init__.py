"""The console: the pages on which people see, connect and decide; it holds no key."""
