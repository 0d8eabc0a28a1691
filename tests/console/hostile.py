"""An organization whose every text from outside attacks the pages."""

import re
from dataclasses import dataclass, replace
from functools import reduce

from mcpist.audit import record as audit
from mcpist.batch.execution import submission
from mcpist.batch.options import BatchOptions
from mcpist.caller import Caller, ClientInfo, Role, Subject
from mcpist.errors import ToolExecutionError
from mcpist.files import access
from mcpist.files.values import readable_json
from mcpist.people import directory, invitations
from mcpist.people.administration import Administration
from mcpist.people.organization import Organization, User
from mcpist.running.confirmation import Agreement
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE
from tests.console.conftest import GITHUB_KEY, Browser
from tests.console.markup import OUTSIDE, problems
from tests.core.loopback import Service, json_response
from tests.full_issuer import FullIssuer
from tests.mcp_endpoint.ledger_driver import LedgerDriver

PAYLOADS = (
    "<script>hacked=1</script>",
    "\"'><img src=x onerror=hacked=2>",
    "<svg/onload=hacked=3>",
    '" autofocus onfocus="hacked=4" x="',
    "' onmouseover='hacked=5' y='",
    "`onclick=hacked=6`",
    "javascript:hacked=7//",
    "data:text/html,<script>hacked=8</script>",
    f"//{OUTSIDE}/",
    f"https://{OUTSIDE}/",
    "{{ 7777*7 }}{% if 1 %}${7777*7}#{7777*7}{% endif %}",
    f'" hx-get="//{OUTSIDE}/" hx-trigger="load" hx-on:htmx:load="hacked=9" z="',
    f"<div hx-get='//{OUTSIDE}/' hx-trigger=load data-hx-on:load=hacked=10>",
    "</title></textarea></select></style></noscript></svg>--><script>hacked=11</script>",
    f'</script><base href="//{OUTSIDE}/"><meta http-equiv="refresh" content="0;url=//{OUTSIDE}/">',
    "\u202egpj.exe\u2066\u200b\u00ad\ufeff\u2800",
    "a\x1b[31m\x07\r\nset-cookie: hacked=12",
    "&lt;script&gt;hacked=13&#60;/script&#62;",
    "<a href=javascript:hacked=14>" + "long" * 500,
)
EVERYTHING = " ".join(PAYLOADS)
IDS = [re.sub(r"[#/\x00-\x1f]", "|", payload)[:120] for payload in PAYLOADS]
"""The payloads as far as ids may have them."""


@dataclass(frozen=True)
class Hostile:
    """What stands in the organization, to be named in addresses."""

    batches: tuple[str, ...]
    files: tuple[str, ...]
    invitation: str
    """The query of an invitation's link."""


def people(login: FullIssuer) -> None:
    """Store roles and users, and give Uma and Ada all roles."""
    roles = [Role(f"r{n} {text}", modules=("rag", text), allow=(text,)) for n, text in enumerate(IDS)]
    names = ("members", *(role.name for role in roles))
    users = [
        User(f"u{n} {IDS[n]}", text, Subject(login.issuer, IDS[n]), "user", names[1:3])
        for n, text in enumerate(PAYLOADS)
    ]
    users += [User("ada", EVERYTHING, Subject(login.issuer, "ada"), "admin", names)]
    users += [User("uma", EVERYTHING, Subject(login.issuer, "uma"), "user", names)]

    def edit(before: Organization) -> Organization:
        with_roles = reduce(Organization.with_role, roles, before)
        return reduce(Organization.with_user, users, with_roles)

    directory.change("acme", edit)
    directory.access_cache.clear()


def invite(administration: Administration) -> str:
    """Store invitations, and return the query of a link."""
    for number, text in enumerate(PAYLOADS):
        secret = invitations.invite(
            administration, f"i{number} {IDS[number]}", name=text, roles=(f"r1 {IDS[1]}",), locale="en", days=1
        )
    return invitations.link("", administration.caller.organization, secret).partition("?")[2]


def connect(browser: Browser, service: Service) -> None:
    """Connect an account of the person and one of a role, whose names attack."""
    service.replies = [json_response({"id": 583231, "login": EVERYTHING, "type": "User"}) for _ in range(2)]
    for whom in ([], [("whom", "role"), ("role", "members")]):
        sent = browser.post("/connect/github", [("action", "paste"), ("key", GITHUB_KEY), *whom])
        if sent["statusCode"] == 200:
            assert problems(sent["body"]) == [], "the question names the account"
            (question,) = re.findall(r'name="question" value="(.*?)"', sent["body"])
            sent = browser.post("/connect/confirm", [("question", question), ("agreed", "yes")])
        assert sent["statusCode"] == 303, sent["body"]


def fill(login: FullIssuer, user: str, invitation: str = "") -> Hostile:
    """Store rows of the audit, files and batches of a user."""
    caller = _hostile(directory.identify(Subject(login.issuer, user), organization="acme"))
    for text in PAYLOADS:
        audit.record_use(caller, text, text, outcome=text.upper(), request=text, account=text, batch=text)
        audit.record_change(caller, action=text, target=text, request="r-1", before={text: text}, after={"x": [text]})
    rows = [{"number": number, text: text} for number, text in enumerate(PAYLOADS[:6])] + [{"x": EVERYTHING}]
    contents = [(EVERYTHING.encode(), "text/plain"), (readable_json(rows), "application/json")]
    files = tuple(access.put(caller, content, kind).sha256 for content, kind in contents)
    return Hostile((_batch(caller, done=True), _batch(caller, done=False)), files, invitation)


def _hostile(caller: Caller) -> Caller:
    return replace(caller, client=ClientInfo(EVERYTHING, PAYLOADS[1], PAYLOADS[2]))


def _batch(caller: Caller, *, done: bool) -> str:
    """Start a batch, one step of which has a hostile result and one a hostile error."""
    permissions = Permissions(caller, CATALOGUE)
    steps = [
        {"id": "find", "module": "rag", "tool": "list_tags", "output": True},
        {"id": "read", "module": "rag", "tool": "list_docs", "after": ["find"], "output": True},
        {"id": "fail", "module": "rag", "tool": "list_docs"},
    ]
    head = submission.prepare(permissions, steps, BatchOptions(timeout=60), "request-0").submit(
        permissions, Agreement()
    )
    driver = LedgerDriver(head.batch)
    driver.finish("find", raw=[{"tag": text, "count": 1} for text in PAYLOADS])
    driver.finish("fail", "failed", error=ToolExecutionError(service=EVERYTHING, http_status=500, problem=EVERYTHING))
    if done:
        driver.finish("read", raw=[{"path": text, "title": text, text: text} for text in PAYLOADS])
    return head.batch
