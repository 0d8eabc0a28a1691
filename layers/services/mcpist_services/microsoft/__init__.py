"""The OAuth dialect that Microsoft's services share."""
