"""Changes: what one's tools have changed, and what undoes it."""
