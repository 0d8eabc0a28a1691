"""The embedded AWS: the whole stack on one machine."""
