"""OAuth: the types in which a service declares how accounts are connected to it."""
