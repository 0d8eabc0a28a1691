"""Microsoft To Do."""

TITLE = "Microsoft To Do"
