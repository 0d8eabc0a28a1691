"""SCIM 2.0 (RFC 7643, RFC 7644): a company's directory, such as Okta or Entra, makes, changes and ends memberships."""
