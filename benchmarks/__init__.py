"""The measurements of `make bench`; every figure is a ratio or a count of one run."""
