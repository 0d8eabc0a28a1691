"""The authorization server: the login of every client, on the word of the issuer that says who a person is."""
