"""The rehearsal: the real `sam deploy` on an engine that nobody here wrote, and the deployed system in use."""
