"""The texts of all errors: one file per language, with a message and a hint for each error class."""
