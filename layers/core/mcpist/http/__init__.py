"""HTTP requests, their callers and their limits: the front that all doors share."""
