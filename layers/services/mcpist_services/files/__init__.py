"""Large results and other files of the caller."""
