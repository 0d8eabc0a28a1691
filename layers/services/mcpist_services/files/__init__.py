"""Large results and other files of the caller."""

TITLE = "Files"
