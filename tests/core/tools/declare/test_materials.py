"""Which addresses the template of a resource can make."""

from mcpist.tools.declare.materials import matches_template
from tests.faults import for_each


@for_each(
    ("template", "uri", "expected"),
    [
        ("file:///docs/{name}", "file:///docs/a%20b.md", True),
        ("file:///docs/{name}", "file:///docs/a/b.md", False),
        ("file:///docs/{name}", "file:///docs/a?b", False),
        ("file:///docs/{name}", "file:///docs/..", False),
        ("file:///docs/{name}", "file:///docs/%252e%252e", False),
        ("file:///docs/{name}", "file:///docs/..%5Cx", False),
        ("file:///docs/{name}", "file:///docs/a\n", False),
        ("file:///docs/{name}", "file:///docs/a%0Ab", False),
        ("file:///docs/{name}", "file:///docs/{name}", False),
        ("file:///docs.d/{name}", "file:///docsXd/a", False),
        ("db://{table}/rows{?limit,offset}", "db://users/rows?limit=5", True),
        ("db://{table}/rows{?limit,offset}", "db://users/rows", True),
        ("db://{table}/rows{?limit,offset}", "db://users/rowsall", False),
        ("repo://{owner}{/path*}", "repo://me/src/a.py", True),
        ("repo://{owner}/{+path}", "repo://me/src/a.py", True),
        ("repo://{owner}/{+path}", "repo://me/../other/a.py", False),
        ("x://{a}", "y://1", False),
    ],
)
def test_an_address_is_one_that_a_template_can_make(template: str, uri: str, expected: bool) -> None:
    assert matches_template(template, uri) is expected
