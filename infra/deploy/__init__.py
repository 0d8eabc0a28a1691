"""`make deploy`: the built template with the owner's parameters, so that each change of them reaches the functions."""
