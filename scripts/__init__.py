"""Programs for whoever works on the project: pages from the code, sizes of the code, vectors for the search."""
