"""One bounded HTTP exchange, for all that ask another server over HTTP."""
