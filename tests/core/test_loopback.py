import pytest

from mcpist.loopback import same_urls


@pytest.mark.parametrize(
    ("url", "others"),
    [
        ("http://127.0.0.1:3000/mcp", ["http://localhost:3000/mcp", "http://[::1]:3000/mcp"]),
        ("http://localhost:3000", ["http://127.0.0.1:3000", "http://[::1]:3000"]),
        ("http://[::1]:3000/mcp", ["http://127.0.0.1:3000/mcp", "http://localhost:3000/mcp"]),
        ("http://[::1]", ["http://127.0.0.1", "http://localhost"]),
        ("https://mcp.example.com/mcp", []),
        ("https://localhost.example.com", []),
        ("http://ada@127.0.0.1:3000", []),
        ("", []),
    ],
)
def test_a_server_on_loopback_has_the_addresses_of_all_names(url: str, others: list[str]) -> None:
    assert same_urls(url) == (url, *others)
