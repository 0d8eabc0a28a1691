"""Clients of the AWS services that every door uses."""
