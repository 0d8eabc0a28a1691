"""The page of files: what is kept for a person, read by parts."""
