"""The page about the API."""

import re
from html.parser import HTMLParser

from rest_api import page
from tests.rest_api.rest_client import RestClient


def test_the_page_shows_every_operation_without_a_token_and_without_anything_from_elsewhere(rest: RestClient) -> None:
    answer = rest.of(None).get("/v1/docs")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    for _, path, operation in page.operations(page.document()):
        assert f'id="{operation["operationId"]}"' in answer.text
        assert path in answer.text
    assert "<script" not in answer.text
    assert not re.findall(r'(?:src|href)="(?!#|/v1/openapi\.json)', answer.text)
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_every_link_in_the_page_leads_somewhere() -> None:
    class Links(HTMLParser):
        ids: set[str] = set()
        targets: set[str] = set()

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - HTMLParser's
            found = dict(attrs)
            self.ids.add(found.get("id") or "")
            self.targets.add(found.get("href") or "")

    links = Links()
    links.feed(page.render())
    assert {target[1:] for target in links.targets if target.startswith("#")} <= links.ids
