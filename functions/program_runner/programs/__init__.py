"""One run of a command-line program: its files, its process, its outputs."""
