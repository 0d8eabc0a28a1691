"""Large results kept out of the context."""
