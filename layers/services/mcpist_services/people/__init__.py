"""People, as the connected services know them."""
