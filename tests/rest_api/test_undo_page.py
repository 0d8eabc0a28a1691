"""docs/undo.md, walked from top to bottom: every request that it shows is answered as it says."""

import json
import re
from pathlib import Path

from mcpist.caller import Role, Subject
from mcpist.files import access
from mcpist.people import directory
from mcpist_services import NAMES
from tests import members
from tests.rest_api.rest_client import Answer, RestClient

PAGE = Path(__file__).parents[2] / "docs/undo.md"


def test_every_request_of_the_page_is_answered_as_it_says(rest: RestClient) -> None:
    members.put_role("acme", Role("members", modules=NAMES, allow=("files.*",)))
    caller = directory.identify(Subject(rest.login.issuer, "uma"))
    names = {"FILE": access.put(caller, b"x", "text/plain").path}
    answers: list[Answer] = []
    for method, path, body in re.findall(r"```http\n(\w+) (\S+)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        asked = re.sub("FILE|CHANGE", lambda found: names[found[0]], body)
        client = rest.of("ada") if path == "/v1/organization" else rest
        answers.append(client.send(method, path, asked or None))
        directory.access_cache.clear()
        if path == "/v1/changes":
            names["CHANGE"] = answers[-1].json["changes"][0]["id"]
    preview, _, _, listed, plan, started = answers
    assert [answer.status for answer in answers] == [200, 200, 200, 200, 200, 202]
    assert preview.json["result"]["difference"] == {"roles": {"now": [], "then": ["members"]}}
    assert [one["tool"] for one in listed.json["changes"]] == ["files.share"]
    assert plan.json["plan"]["undoes"][0]["was"] == {"roles": []}
    assert plan.json["plan"]["previews"][0]["calls"][0]["difference"] == {"roles": {"now": ["members"], "then": []}}
    assert json.loads(started.text)["steps"][0]["tool"] == "files.share"
