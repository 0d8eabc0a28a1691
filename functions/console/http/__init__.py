"""The HTTP side of the pages: requests, responses, cookies and the token of every form."""
