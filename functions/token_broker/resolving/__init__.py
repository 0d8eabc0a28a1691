"""From a caller to an access token."""
