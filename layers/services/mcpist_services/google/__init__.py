"""The OAuth dialect that Google's services share."""
