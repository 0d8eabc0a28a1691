"""Planning, starting and settling a batch."""
