"""Organizations, their users and roles: who is calling, and how often they may."""
