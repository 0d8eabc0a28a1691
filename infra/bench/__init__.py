"""What `make bench` measures; every figure is a ratio or a count of one run."""
