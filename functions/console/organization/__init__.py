"""An organization's users and roles, and what a change of them would do."""
