"""The batch language: steps, references, conditions and the graph they make."""
