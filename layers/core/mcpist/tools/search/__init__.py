"""Finding tools: the catalogue of all modules, its index, and the search by the words of a task."""
