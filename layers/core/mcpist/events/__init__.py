"""Events: what happened at a service or here, stored once, and passed on to everybody who asked for it."""
