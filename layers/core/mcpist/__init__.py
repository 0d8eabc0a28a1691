"""The core that every function shares."""
