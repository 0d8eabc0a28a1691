"""The registry: every tool and module of an organization, switched on and off, registered and removed."""
