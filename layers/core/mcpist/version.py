"""The version that clients and people see; a test compares it with the project's."""

VERSION = "0.1.0"
