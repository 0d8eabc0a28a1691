"""The meta-tool `batch` and its results."""
