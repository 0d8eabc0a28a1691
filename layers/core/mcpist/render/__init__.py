"""From JSON to the fewest tokens."""
